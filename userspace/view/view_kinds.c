#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/view_internal.h"

int view_kinds_init(struct view_kinds *view_kinds)
{
	size_t count;
	const struct schema_kind *kinds = schema_kinds(&count);

	for (size_t i = 0; i < count; i++)
		if (kinds[i].number >= view_kinds->count)
			view_kinds->count = kinds[i].number + 1;
	view_kinds->kinds = calloc(view_kinds->count, sizeof(*view_kinds->kinds));
	if (!view_kinds->kinds)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct view_kind *kind = &view_kinds->kinds[kinds[i].number];

		kind->kind = &kinds[i];
		kind->correlation = schema_field(kind->kind, "correlation");
		kind->device = schema_field(kind->kind, "device");
		kind->stream = schema_field(kind->kind, "stream");
		kind->probe = schema_field(kind->kind, "probe");
		view_event_names_init(kind);
	}
	return 0;
}
