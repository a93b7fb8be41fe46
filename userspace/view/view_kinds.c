/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/view_parts.h"

static const char *const number_names[VIEW_NUMBERS] = {
	[VIEW_NUMBER_DEVICE] = SCHEMA_FIELD(kernel, device),
	[VIEW_NUMBER_CONTEXT] = SCHEMA_FIELD(kernel, context),
	[VIEW_NUMBER_STREAM] = SCHEMA_FIELD(kernel, stream),
	[VIEW_NUMBER_SOURCE_DEVICE] = SCHEMA_FIELD(copy, source_device),
	[VIEW_NUMBER_DESTINATION_DEVICE] = SCHEMA_FIELD(copy, destination_device),
};

static void find_numbers(struct view_kind *kind)
{
	for (unsigned i = 0; i < VIEW_NUMBERS; i++) {
		const struct schema_field *field = schema_field(kind->kind, number_names[i]);
		const struct schema_kind *fact;

		if (!field || field->unit != UNIT_ID)
			continue;
		fact = schema_kind_by_tag(field->reference);
		kind->numbers[i] = (struct view_number_field){
			.field = field,
			.number = schema_field(fact, SCHEMA_FIELD(device, number)),
			.fact_kind = fact->number,
		};
	}
}

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
		kind->correlation = schema_field(kind->kind, SCHEMA_FIELD(kernel, correlation));
		kind->device = schema_field(kind->kind, SCHEMA_FIELD(kernel, device));
		kind->stream = schema_field(kind->kind, SCHEMA_FIELD(kernel, stream));
		kind->probe = schema_field(kind->kind, SCHEMA_FIELD(call, probe));
		find_numbers(kind);
		view_event_names_init(kind);
	}
	return 0;
}
