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
		for (size_t j = 0; j < kinds[i].field_count && !kind->named_by; j++) {
			const struct schema_field *field = &kinds[i].fields[j];

			if (field->unit != UNIT_ID || strcmp(field->name, "id") == 0)
				continue;
			kind->named_by = field;
			kind->named_by_kind = schema_kind_by_tag(field->reference)->number;
		}
	}
	return 0;
}
