/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report gpu_why: why GPUs were idle. Its rows add up to the idle times of gpu_busy_sum, and what is not known to be idle to the times of that. */
#include <errno.h>
#include <stdlib.h>

#include "reports/report_gpu_doubts.h"
#include "why/why.h"

enum column {
	COLUMN_SHARE,
	COLUMN_TOTAL,
	COLUMN_GAPS,
	COLUMN_DEVICE,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_THREAD,
	COLUMN_WAITER_TID,
	COLUMN_WAITER,
	COLUMN_SEEN,
	COLUMN_WHY,
	COLUMN_WHAT,
	COLUMN_COUNT
};

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_SHARE] = {"Idle (%)", REPORT_DECIMAL, 1},
	[COLUMN_TOTAL] = {"Total Time (ns)", REPORT_COUNT},
	[COLUMN_GAPS] = {"Gaps", REPORT_COUNT},
	[COLUMN_DEVICE] = {"Device ID", REPORT_NUMBER},
	[COLUMN_PID] = {"PID", REPORT_NUMBER},
	[COLUMN_TID] = {"TID", REPORT_NUMBER},
	[COLUMN_THREAD] = {"Thread", REPORT_NAME},
	[COLUMN_WAITER_TID] = {"Waiting TID", REPORT_NUMBER},
	[COLUMN_WAITER] = {"Waiting", REPORT_NAME},
	[COLUMN_SEEN] = {"Known by", REPORT_TEXT},
	[COLUMN_WHY] = {"Why", REPORT_TEXT},
	[COLUMN_WHAT] = {"What", REPORT_NAME},
};

static int fill_threads(const struct view *view, const struct why_cause *cause,
			struct report_row *row)
{
	const struct view_row *rows = view_survey(view)->rows;

	if (cause->row_index == WHY_NO_ROW)
		return 0;
	report_cell_count(&row->cells[COLUMN_PID], rows[cause->row_index].pid);
	report_cell_count(&row->cells[COLUMN_TID], rows[cause->row_index].tid);
	if (report_cell_text(&row->cells[COLUMN_THREAD], rows[cause->row_index].name))
		return -ENOMEM;
	if (cause->waiter == WHY_NO_ROW)
		return 0;
	report_cell_count(&row->cells[COLUMN_WAITER_TID], rows[cause->waiter].tid);
	return report_cell_text(&row->cells[COLUMN_WAITER], rows[cause->waiter].name);
}

static int add_row(const struct view *view, const struct why *why, const struct why_cause *cause,
		   double idle_ns, struct report_table *table)
{
	struct report_row *row = report_table_add(table);

	if (!row || fill_threads(view, cause, row) ||
	    report_cell_text(&row->cells[COLUMN_SEEN], why_seen(cause->sort)) ||
	    report_cell_text(&row->cells[COLUMN_WHY], why_words(cause->sort)) ||
	    report_cell_text(&row->cells[COLUMN_WHAT], cause->what[0] ? cause->what : "-"))
		return -ENOMEM;
	if (why_is_idle(cause->sort))
		report_cell_decimal(&row->cells[COLUMN_SHARE], 100.0 * cause->ns / idle_ns);
	report_cell_count(&row->cells[COLUMN_TOTAL], cause->ns);
	report_cell_count(&row->cells[COLUMN_GAPS], cause->gaps);
	report_cell_count(&row->cells[COLUMN_DEVICE], why->gpus[cause->gpu].number);
	return 0;
}

struct run {
	struct view *view;
	struct why why;
	struct why_making *making;
};

static void run_free(void *data)
{
	struct run *run = data;

	why_making_free(run->making);
	why_free(&run->why);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;
	double idle_ns = 0;
	int result = why_making_finish(run->making, NULL, err);

	if (result < 0)
		return result;
	why_merge(&run->why);
	for (size_t i = 0; i < run->why.count; i++)
		idle_ns += why_is_idle(run->why.causes[i].sort) ? run->why.causes[i].ns : 0;
	for (size_t i = 0; i < run->why.count && result == 0; i++)
		result = add_row(run->view, &run->why, &run->why.causes[i], idle_ns, table);
	if (result == 0)
		result = report_note_gpu_doubts(run->view, COLUMN_DEVICE, table);
	return result ? err_errno(err, -ENOMEM, "can't make the report gpu_why") : 0;
}

int report_gpu_why_begin(struct view *view, const struct report_request *request,
			 struct report_table *table, struct report_run *ret_run, struct err *err)
{
	struct run *run = calloc(1, sizeof(*run));
	int result;

	(void)request;
	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report gpu_why");
	run->view = view;
	table->title = "Why GPUs were idle";
	table->empty = "No GPU was idle.";
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	*ret_run = (struct report_run){.data = run, .fill = run_fill, .free = run_free};
	result = why_making_new(view, false, NULL, &run->why, &run->making, err);
	if (result == 0)
		ret_run->part = why_making_part(run->making);
	return result;
}
