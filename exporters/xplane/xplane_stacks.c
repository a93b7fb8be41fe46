/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "exporters/xplane/xplane_details.h"

#define STAT_NAME   "stack"
#define STAT_SOURCE "source"
#define STAT_BY	    "launched by"

/* Numbers of strings in a plane; 0: none. */
struct xplane_source {
	s64 line, by;
};

/* Whose stack it is, and which; 0 in stack: none. */
struct stack_key {
	u32 pid, stack;
};

static struct stack_key stack_of(const struct view_event *event)
{
	const struct record_header *record = event->record;

	if (record->stack)
		return (struct stack_key){record->pid, record->stack};
	if (event->cause)
		return (struct stack_key){event->cause->pid, event->cause->stack.stack};
	return (struct stack_key){record->pid, event->stack.stack};
}

static int make(const struct xplane_stacks *stacks, struct stack_key key,
		struct xplane_plane *plane, s64 *ret_reference)
{
	_cleanup_text_ struct text text = {0}, scratch = {0};
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(stacks->view, key.pid, key.stack, &frames, &cut);

	for (size_t i = 0; i < count; i++) {
		text_append(&text, i ? " < " : "");
		view_frame_append_name(&frames[i], &text);
	}
	if (cut)
		text_appendf(&text, "%s%s", count ? " < " : "", cut);
	*ret_reference = 0;
	if (text.failed)
		return -ENOMEM;
	if (!text.length || plane->stat_names.count >= XPLANE_REFERENCES_MAX)
		return 0;
	*ret_reference = xplane_plane_stat(plane, text_utf8(text_string(&text), &scratch));
	return *ret_reference && !scratch.failed ? 0 : -ENOMEM;
}

static int add_reference(struct xplane_event *event, s64 id, s64 reference)
{
	xplane_stat *stat = id && reference ? xplane_event_stat(event, id) : NULL;

	if (stat) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE;
		stat->ref_value = reference;
	}
	return id ? 0 : -ENOMEM;
}

/* ---- the program's own code ---- */

static int note_text(struct xplane_plane *plane, const struct text *text, s64 *ret_reference)
{
	_cleanup_text_ struct text scratch = {0};

	*ret_reference = 0;
	if (text->failed)
		return -ENOMEM;
	if (!text->length || plane->stat_names.count >= XPLANE_REFERENCES_MAX)
		return 0;
	*ret_reference = xplane_plane_stat(plane, text_utf8(text->data, &scratch));
	return *ret_reference && !scratch.failed ? 0 : -ENOMEM;
}

static int make_source(const struct xplane_stacks *stacks, const struct view_event *event,
		       struct xplane_plane *plane, struct xplane_source *ret_source)
{
	_cleanup_text_ struct text by = {0}, line = {0};
	struct view_launch_code code;

	*ret_source = (struct xplane_source){0};
	if (!view_launch_code(stacks->view, event->cause,
			      event->kind->number == KIND_kernel ? event->name : NULL, &code))
		return 0;
	view_launch_code_append(&code, view_frame_append_name, &by);
	if (code.frame.file[0])
		text_appendf(&line, "%s:%u", code.frame.file, code.frame.line);
	if (note_text(plane, &by, &ret_source->by) || note_text(plane, &line, &ret_source->line))
		return -ENOMEM;
	return 0;
}

/* NULL: no memory. */
static const struct xplane_source *
source_of(struct xplane_stacks *stacks, const struct view_event *event, struct xplane_plane *plane)
{
	const struct view_cause *cause = event->cause;
	u64 whose = (u64)cause->pid << 32 | cause->stack.stack, number = stacks->codes.count;
	u64 what = (u64)cause->within.origin << 32 |
		   (event->kind->number == KIND_kernel ? event->record->name : 0);
	u64 *known = map_find(&stacks->codes, whose, what), *place;

	if (!known && map_set(&stacks->codes, whose, what, number))
		return NULL;
	number = known ? *known : number;
	place = map_find(&stacks->places, (uintptr_t)plane, number);
	if (place)
		return &stacks->sources[*place];
	if (array_reserve(&stacks->sources, &stacks->source_capacity, stacks->source_count + 1) ||
	    make_source(stacks, event, plane, &stacks->sources[stacks->source_count]) ||
	    map_set(&stacks->places, (uintptr_t)plane, number, stacks->source_count))
		return NULL;
	return &stacks->sources[stacks->source_count++];
}

static int add_source(struct xplane_stacks *stacks, const struct view_event *event,
		      struct xplane_plane *plane, struct xplane_event *ret_event)
{
	/* The names' numbers come first. */
	s64 line = xplane_plane_constant(plane, STAT_SOURCE),
	    by = xplane_plane_constant(plane, STAT_BY);
	const struct xplane_source *source = source_of(stacks, event, plane);

	if (!source || add_reference(ret_event, line, source->line) ||
	    add_reference(ret_event, by, source->by))
		return -ENOMEM;
	return 0;
}

int xplane_stacks_add(struct xplane_stacks *stacks, const struct view_event *event,
		      struct xplane_plane *plane, struct xplane_event *ret_event)
{
	struct stack_key key = stack_of(event);
	u64 place = (uintptr_t)plane, stack = (u64)key.pid << 32 | key.stack, *known;
	s64 reference, id;
	int result;

	if (!key.stack)
		return 0;
	/* The name's number comes first. */
	id = xplane_plane_constant(plane, STAT_NAME);
	if (!id)
		return -ENOMEM;
	known = map_find(&stacks->references, place, stack);
	if (known) {
		reference = (s64)*known;
	} else {
		result = make(stacks, key, plane, &reference);
		if (result || map_set(&stacks->references, place, stack, (u64)reference))
			return -ENOMEM;
	}
	if (add_reference(ret_event, id, reference))
		return -ENOMEM;
	return event->cause && !event->record->stack ? add_source(stacks, event, plane, ret_event)
						     : 0;
}

int xplane_stacks_source(struct xplane_stacks *stacks, const struct view_event *event,
			 struct xplane_plane *plane, const char **ret_source)
{
	const struct xplane_source *source;

	*ret_source = NULL;
	if (!event->cause || event->record->stack || !stack_of(event).stack)
		return 0;
	source = source_of(stacks, event, plane);
	if (!source)
		return -ENOMEM;
	if (source->line)
		*ret_source = plane->stat_names.strings[source->line - 1];
	return 0;
}

void xplane_stacks_free(struct xplane_stacks *stacks)
{
	map_free(&stacks->references);
	map_free(&stacks->codes);
	map_free(&stacks->places);
	free(stacks->sources);
}
