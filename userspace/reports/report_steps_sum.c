/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report steps_sum: how long the steps (steps/view_steps.h) of each thread took. Where the work of GPUs was recorded up to a moment
 * only, of those that had ended by then: all columns are of the same steps.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "reports/report_table.h"
#include "steps/view_steps.h"

enum column {
	COLUMN_STEPS,
	COLUMN_AVERAGE,
	COLUMN_MEDIAN,
	COLUMN_P95,
	COLUMN_MINIMUM,
	COLUMN_MAXIMUM,
	COLUMN_BUSY,
	COLUMN_AFTER,
	COLUMN_KERNELS,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_SOURCE,
	COLUMN_NAME,
	COLUMNS,
};

static const struct report_column columns[COLUMNS] = {
	[COLUMN_STEPS] = {"Steps", REPORT_COUNT},
	[COLUMN_AVERAGE] = {"Avg (ns)", REPORT_DECIMAL, 1},
	[COLUMN_MEDIAN] = {"Med (ns)", REPORT_DECIMAL, 1},
	[COLUMN_P95] = {"P95 (ns)", REPORT_COUNT},
	[COLUMN_MINIMUM] = {"Min (ns)", REPORT_COUNT},
	[COLUMN_MAXIMUM] = {"Max (ns)", REPORT_COUNT},
	[COLUMN_BUSY] = {"Avg GPU Busy (ns)", REPORT_DECIMAL, 1},
	[COLUMN_AFTER] = {"Avg GPU After (ns)", REPORT_DECIMAL, 1},
	[COLUMN_KERNELS] = {"Avg Kernels", REPORT_DECIMAL, 1},
	[COLUMN_PID] = {"PID", REPORT_NUMBER},
	[COLUMN_TID] = {"TID", REPORT_NUMBER},
	[COLUMN_SOURCE] = {"From", REPORT_TEXT},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
};

static int compare_durations(const void *a, const void *b)
{
	const u64 *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* sorted: count of them, not 0 */
static void fill_durations(const u64 *sorted, size_t count, double total_ns,
			   struct report_cell *cells)
{
	double middle = (double)sorted[(count - 1) / 2] + (double)sorted[count / 2];

	report_cell_decimal(&cells[COLUMN_AVERAGE], total_ns / count);
	report_cell_decimal(&cells[COLUMN_MEDIAN], middle / 2);
	/* The least that 95 of 100 do not exceed. */
	report_cell_count(&cells[COLUMN_P95], sorted[(count * 95 + 99) / 100 - 1]);
	report_cell_count(&cells[COLUMN_MINIMUM], sorted[0]);
	report_cell_count(&cells[COLUMN_MAXIMUM], sorted[count - 1]);
}

static bool is_recorded(const struct view_step_track *track)
{
	return track->count && track->steps[0].gpu_recorded;
}

static int add_row(struct report_table *table, const struct view_step_track *track)
{
	_cleanup_free_ u64 *durations = calloc(track->count + 1, sizeof(*durations));
	struct report_row *row = report_table_add(table);
	double total_ns = 0, busy_ns = 0, after_ns = 0, kernel_count = 0;
	size_t count = 0;

	if (!durations || !row ||
	    report_cell_text(&row->cells[COLUMN_NAME], track->steps[0].name) < 0 ||
	    report_cell_text(&row->cells[COLUMN_SOURCE], view_step_source_text(track->source)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < track->count; i++) {
		const struct view_step *step = &track->steps[i];
		const struct view_step_work *work = view_step_work(track, step);

		if (is_recorded(track) && !step->gpu_recorded)
			break;
		durations[count] = step->end_ns - step->start_ns;
		total_ns += durations[count++];
		busy_ns += work->busy_ns;
		after_ns += work->last_ns > step->end_ns ? work->last_ns - step->end_ns : 0;
		kernel_count += work->kernel_count;
	}
	qsort(durations, count, sizeof(*durations), compare_durations);
	report_cell_count(&row->cells[COLUMN_STEPS], count);
	fill_durations(durations, count, total_ns, row->cells);
	if (is_recorded(track)) {
		report_cell_decimal(&row->cells[COLUMN_BUSY], busy_ns / count);
		report_cell_decimal(&row->cells[COLUMN_AFTER], after_ns / count);
		report_cell_decimal(&row->cells[COLUMN_KERNELS], kernel_count / count);
	}
	report_cell_count(&row->cells[COLUMN_PID], track->pid);
	report_cell_count(&row->cells[COLUMN_TID], track->tid);
	return 0;
}

struct run {
	const struct view *view;
	const struct view_steps *steps; /* NULL: not found yet */
};

/* What GPUs did in them, once they are found. */
static int run_then(struct report_run *report, struct err *err)
{
	struct run *run = report->data;
	int result;

	if (run->steps)
		return 0;
	result = view_steps_search_end(run->view, &run->steps, err);
	if (result == 0)
		report->part = view_steps_work_part(run->view);
	return result;
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	const struct run *run = data;
	int result = 0;

	for (size_t i = 0; i < run->steps->track_count && result == 0; i++)
		if (run->steps->tracks[i].count)
			result = add_row(table, &run->steps->tracks[i]);
	return result < 0 ? err_errno(err, result, "can't make the report steps_sum") : 0;
}

int report_steps_sum_begin(struct view *view, const struct report_request *request,
			   struct report_table *table, struct report_run *ret_run, struct err *err)
{
	struct run *run = calloc(1, sizeof(*run));
	int result;

	(void)request;
	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report steps_sum");
	run->view = view;
	table->title = "Steps, in all";
	table->empty = "No steps were found: see the report steps.";
	table->columns = columns;
	table->column_count = COLUMNS;
	*ret_run =
		(struct report_run){.data = run, .then = run_then, .fill = run_fill, .free = free};
	result = view_steps_search_begin(view, &ret_run->part, err);
	/* They may be known already. */
	return result < 0 || ret_run->part.sink ? result : run_then(ret_run, err);
}
