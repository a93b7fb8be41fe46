/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/launch_places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"

static int number_of(struct launch_places *places, const char *string, u32 *ret_number)
{
	s64 number = string_table_add(&places->strings, string, strlen(string));

	if (number < 0)
		return -ENOMEM;
	*ret_number = (u32)number;
	return 0;
}

static const char *unit_of(const struct view_frame *frame)
{
	if (!frame)
		return LAUNCH_PLACE_NO_STACK;
	return frame->python && frame->file[0] ? frame->file : frame->module;
}

/* code: NULL: none. */
static int make_place(struct launch_places *places, const struct view_launch_code *code,
		      struct launch_place *ret_place)
{
	const struct view_frame *frame = code ? &code->frame : NULL;
	_cleanup_text_ struct text name = {0};
	_cleanup_text_ struct text line = {0};
	_cleanup_text_ struct text brief = {0};

	ret_place->known = frame;
	ret_place->replays = code && code->replays;
	if (!code)
		text_append(&name, LAUNCH_PLACE_NO_STACK);
	else
		view_launch_code_append(code, view_frame_append_name, &name);
	if (code)
		view_launch_code_append(code, view_frame_append, &brief);
	if (frame && frame->file[0])
		text_appendf(&line, "%s:%u", frame->file, frame->line);
	if (name.failed || line.failed || brief.failed ||
	    number_of(places, text_string(&name), &ret_place->name) ||
	    number_of(places, frame ? frame->module : "", &ret_place->module) ||
	    number_of(places, unit_of(frame), &ret_place->unit) ||
	    number_of(places, text_string(&brief), &ret_place->brief) ||
	    number_of(places, frame ? frame->file : "", &ret_place->file) ||
	    number_of(places, text_string(&line), &ret_place->line))
		return -ENOMEM;
	return 0;
}

int launch_places_of(struct launch_places *places, const struct view_event *event,
		     struct launch_place *ret_place)
{
	const struct view_cause *cause = event->cause;
	u32 stack = cause ? cause->stack.stack : 0, pid = cause ? cause->pid : 0;
	bool is_kernel = event->kind->number == KIND_kernel;
	u64 whose = stack ? (u64)pid << 32 | stack : 0;
	u64 what =
		stack ? (u64)cause->within.origin << 32 | (is_kernel ? event->record->name : 0) : 0;
	const u64 *known = map_find(&places->known, whose, what);
	struct view_launch_code code;
	bool has_code;

	if (known) {
		*ret_place = places->items[*known];
		return 0;
	}
	has_code = view_launch_code(places->view, cause, is_kernel ? event->name : NULL, &code);
	if (array_reserve(&places->items, &places->capacity, places->count + 1) ||
	    make_place(places, has_code ? &code : NULL, &places->items[places->count]) ||
	    map_set(&places->known, whose, what, places->count))
		return -ENOMEM;
	*ret_place = places->items[places->count++];
	return 0;
}

void launch_places_free(struct launch_places *places)
{
	map_free(&places->known);
	free(places->items);
	string_table_free(&places->strings);
}
