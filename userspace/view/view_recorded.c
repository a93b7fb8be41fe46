/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was recorded up to a moment inside the window only. Behind that nothing says that a GPU was idle: so what is relative to a
 * time is of the time up to then.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "view/view_parts.h"

static struct view_recording_end *find(struct view_recorded *recorded, u8 sort, u32 pid)
{
	for (size_t i = 0; i < recorded->count; i++)
		if (recorded->ends[i].sort == sort && recorded->ends[i].pid == pid)
			return &recorded->ends[i];
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct view_recording_end *left = a, *right = b;

	if (left->at_ns != right->at_ns)
		return left->at_ns < right->at_ns ? -1 : 1;
	if (left->sort != right->sort)
		return left->sort < right->sort ? -1 : 1;
	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

/* The first of them counts. */
static int add(struct view *view, const struct record_recording_end *fact)
{
	struct view_recorded *recorded = &view->recorded;
	u64 start_ns = view->survey.window_start_ns, at_ns = fact->header.ts;
	u64 until_ns = fact->complete && fact->complete < at_ns ? fact->complete : at_ns;
	struct view_recording_end *end = find(recorded, fact->sort, fact->header.pid);

	if (at_ns >= view->survey.window_end_ns || (end && end->at_ns <= at_ns))
		return 0;
	if (!end) {
		if (array_reserve(&recorded->ends, &recorded->capacity, recorded->count + 1))
			return -ENOMEM;
		end = &recorded->ends[recorded->count++];
	}
	*end = (struct view_recording_end){
		.sort = fact->sort,
		.why = fact->why,
		.pid = fact->header.pid,
		.at_ns = at_ns > start_ns ? at_ns : start_ns,
		.until_ns = until_ns > start_ns ? until_ns : start_ns,
	};
	return 0;
}

int view_recorded_init(struct view *view)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_recording_end, &count);
	int result = 0;

	for (size_t i = 0; i < count && !result; i++)
		result = add(view, (const struct record_recording_end *)facts[i]);
	if (view->recorded.count)
		qsort(view->recorded.ends, view->recorded.count, sizeof(*view->recorded.ends),
		      compare);
	return result;
}

static u8 sort_of(u16 kind)
{
	switch (kind) {
	case KIND_kernel:
	case KIND_copy:
	case KIND_set:
	case KIND_graph_launch:
		return VALUE_recorded_sort_gpu;
	case KIND_api:
		return VALUE_recorded_sort_cuda_calls;
	default:
		return 0;
	}
}

/* What came was handed over, and so was what was before it of its sort: buffers of one sort are handed over in their order. */
void view_recorded_survey(struct view_recorded *recorded, const struct view_event *event)
{
	struct view_recording_end *end;
	u64 seen_ns;

	if (!recorded->count || event->open)
		return;
	end = find(recorded, sort_of(event->kind->number), event->record->pid);
	if (!end)
		return;
	seen_ns = event->end < end->at_ns ? event->end : end->at_ns;
	end->until_ns = seen_ns > end->until_ns ? seen_ns : end->until_ns;
}

void view_recorded_free(struct view_recorded *recorded)
{
	free(recorded->ends);
}

/* ---- for who asks ---- */

const struct view_recording_end *view_recording_ends(const struct view *view, size_t *ret_count)
{
	*ret_count = view->recorded.count;
	return view->recorded.ends;
}

u64 view_recorded_until(const struct view *view, u8 sort, u32 pid)
{
	u64 until_ns = view->survey.window_end_ns;

	for (size_t i = 0; i < view->recorded.count; i++) {
		const struct view_recording_end *end = &view->recorded.ends[i];

		if (end->sort == sort && (!end->pid || end->pid == pid) && end->until_ns < until_ns)
			until_ns = end->until_ns;
	}
	return until_ns;
}

static bool gives_work(const struct view_row *row)
{
	return row->type == ROW_STREAM && row->span_count;
}

u64 view_gpu_recorded_until(const struct view *view, u32 device)
{
	const struct record_header *fact = view_fact(view, KIND_device, device);
	u64 until_ns = view->survey.window_end_ns;

	if (!view->recorded.count)
		return until_ns;
	for (size_t i = 0; i < view->survey.row_count; i++) {
		const struct view_row *row = &view->survey.rows[i];
		u64 of_process_ns;

		if (!gives_work(row) ||
		    (row->device != device &&
		     !view_is_same_gpu(fact, view_fact(view, KIND_device, row->device))))
			continue;
		of_process_ns = view_recorded_until(view, VALUE_recorded_sort_gpu, row->pid);
		until_ns = of_process_ns < until_ns ? of_process_ns : until_ns;
	}
	return until_ns;
}

u64 view_recorded_until_by_any(const struct view *view, u8 sort)
{
	u64 latest_ns = 0;

	for (size_t i = 0; i < view->survey.row_count && view->recorded.count; i++) {
		const struct view_row *row = &view->survey.rows[i];
		u64 until_ns;

		if (!gives_work(row))
			continue;
		until_ns = view_recorded_until(view, sort, row->pid);
		latest_ns = until_ns > latest_ns ? until_ns : latest_ns;
	}
	return latest_ns ? latest_ns : view->survey.window_end_ns;
}
