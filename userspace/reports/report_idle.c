/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "gpu-idle" (the rule gpu_gaps of nsys): the times between two pieces of work of a context on a GPU in
 * which it did nothing, the longest first. Waits are no work.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "reports/report_gpu_doubts.h"

#define GAPS_MAX 10000 /* the longest that are kept */

enum column {
	COLUMN_NUMBER,
	COLUMN_DURATION,
	COLUMN_START,
	COLUMN_PID,
	COLUMN_DEVICE,
	COLUMN_CONTEXT,
	COLUMN_COUNT
};

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_NUMBER] = {"Row#", REPORT_NUMBER},
	[COLUMN_DURATION] = {"Duration (ns)", REPORT_COUNT},
	[COLUMN_START] = {"Start (ns)", REPORT_COUNT},
	[COLUMN_PID] = {"PID", REPORT_NUMBER},
	[COLUMN_DEVICE] = {"Device ID", REPORT_NUMBER},
	[COLUMN_CONTEXT] = {"Context ID", REPORT_NUMBER},
};

struct gap {
	u64 duration_ns, start_ns; /* since the window opened */
	u32 pid, device, context;
};

struct run {
	const struct view *view;
	u64 window_start_ns;
	const struct view_key *contexts[4]; /* by place in work_kinds */
	struct map busy_until; /* (device, context) and source -> when its last work ended */
	struct gap *gaps;
	size_t count, capacity;
};

static const u16 work_kinds[] = {KIND_kernel, KIND_copy, KIND_set, KIND_graph_launch};

static int compare_gaps(const void *a, const void *b)
{
	const struct gap *left = a, *right = b;

	if (left->duration_ns != right->duration_ns)
		return left->duration_ns < right->duration_ns ? 1 : -1;
	return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;
	int result = 0;

	run->view = view;
	run->window_start_ns = survey->window_start_ns;
	for (size_t i = 0; i < ARRAY_SIZE(work_kinds) && result == 0; i++)
		result = view_key(view, "gpu_gaps", schema_kind(work_kinds[i]), "context_number",
				  &run->contexts[i], err);
	return result;
}

/* Sorts out the shorter half once there are twice as many as are kept. */
static int add_gap(struct run *run, const struct gap *gap)
{
	if (run->count == 2 * GAPS_MAX) {
		qsort(run->gaps, run->count, sizeof(*run->gaps), compare_gaps);
		run->count = GAPS_MAX;
	}
	if (array_reserve(&run->gaps, &run->capacity, run->count + 1) < 0)
		return -ENOMEM;
	run->gaps[run->count++] = *gap;
	return 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	struct view_value context;
	int result = 0;
	size_t kind = 0;
	u64 key, *until;

	while (kind < ARRAY_SIZE(work_kinds) && work_kinds[kind] != event->kind->number)
		kind++;
	if (kind == ARRAY_SIZE(work_kinds))
		return 0;
	context = view_value(run->view, run->contexts[kind], event);
	key = (u64)event->row->device << 32 | context.number;
	until = map_find(&run->busy_until, key, event->record->source);
	if (until && *until < event->ts) {
		const struct gap gap = {event->ts - *until, *until - run->window_start_ns,
					event->record->pid, event->row->device_number,
					context.number};

		result = add_gap(run, &gap);
	}
	if (result == 0 && (!until || *until < event->end))
		result = map_set(&run->busy_until, key, event->record->source, event->end);
	return result < 0 ? err_errno(err, result, "can't make the report gpu_gaps") : 0;
}

static int fill_table(struct run *run, struct report_table *table)
{
	qsort(run->gaps, run->count, sizeof(*run->gaps), compare_gaps);
	for (size_t i = 0; i < run->count && i < GAPS_MAX; i++) {
		const struct gap *gap = &run->gaps[i];
		struct report_row *row = report_table_add(table);

		if (!row)
			return -ENOMEM;
		report_cell_count(&row->cells[COLUMN_NUMBER], i + 1);
		report_cell_count(&row->cells[COLUMN_DURATION], gap->duration_ns);
		report_cell_count(&row->cells[COLUMN_START], gap->start_ns);
		report_cell_count(&row->cells[COLUMN_PID], gap->pid);
		report_cell_count(&row->cells[COLUMN_DEVICE], gap->device);
		report_cell_count(&row->cells[COLUMN_CONTEXT], gap->context);
	}
	return 0;
}

int report_idle_make(struct view *view, const struct report_request *request,
		     struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run run = {0};
	int result = view_run(view, &sink, &run, err);

	table->title = "GPU idle, the longest first";
	table->empty = "No GPU was idle between two pieces of work.";
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	if (result == 0 && run.count && fill_table(&run, table) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report gpu_gaps");
	if (result == 0 && report_note_gpu_doubts(view, COLUMN_DEVICE, table))
		result = err_errno(err, -ENOMEM, "can't make the report gpu_gaps");
	free(run.gaps);
	map_free(&run.busy_until);
	return result;
}
