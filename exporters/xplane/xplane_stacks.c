/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_stacks.h"

#include <errno.h>

#include "base/cleanup.h"
#include "exporters/xplane/xplane_details.h"

#define STAT_NAME "stack"

static int make(const struct xplane_stacks *stacks, const struct record_header *record,
		struct xplane_plane *plane, s64 *ret_reference)
{
	_cleanup_text_ struct text text = {0}, scratch = {0};
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(stacks->view, record->pid, record->stack, &frames, &cut);

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

int xplane_stacks_add(struct xplane_stacks *stacks, const struct view_event *event,
		      struct xplane_plane *plane, struct xplane_event *ret_event)
{
	const struct record_header *record = event->record;
	u64 place = (uintptr_t)plane, stack = (u64)record->pid << 32 | record->stack, *known;
	xplane_stat *stat;
	s64 reference, id;
	int result;

	if (!record->stack)
		return 0;
	/* The name's number comes first. */
	id = xplane_plane_constant(plane, STAT_NAME);
	if (!id)
		return -ENOMEM;
	known = map_find(&stacks->references, place, stack);
	if (known) {
		reference = (s64)*known;
	} else {
		result = make(stacks, record, plane, &reference);
		if (result || map_set(&stacks->references, place, stack, (u64)reference))
			return -ENOMEM;
	}
	stat = reference ? xplane_event_stat(ret_event, id) : NULL;
	if (stat) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE;
		stat->ref_value = reference;
	}
	return 0;
}

void xplane_stacks_free(struct xplane_stacks *stacks)
{
	map_free(&stacks->references);
}
