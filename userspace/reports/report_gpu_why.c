/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report gpu_why: why GPUs were idle. Its rows add up to the idle times of gpu_busy_sum. */
#include <errno.h>

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
		   double all_ns, struct report_table *table)
{
	struct report_row *row = report_table_add(table);

	if (!row || fill_threads(view, cause, row) ||
	    report_cell_text(&row->cells[COLUMN_SEEN], why_seen(cause->sort)) ||
	    report_cell_text(&row->cells[COLUMN_WHY], why_words(cause->sort)) ||
	    report_cell_text(&row->cells[COLUMN_WHAT], cause->what[0] ? cause->what : "-"))
		return -ENOMEM;
	report_cell_decimal(&row->cells[COLUMN_SHARE], 100.0 * cause->ns / all_ns);
	report_cell_count(&row->cells[COLUMN_TOTAL], cause->ns);
	report_cell_count(&row->cells[COLUMN_GAPS], cause->gaps);
	report_cell_count(&row->cells[COLUMN_DEVICE], why->gpus[cause->gpu].number);
	return 0;
}

int report_gpu_why_make(struct view *view, const struct report_request *request,
			struct report_table *table, struct err *err)
{
	double all_ns = 0;
	struct why why;
	int result = why_make(view, NULL, &why, err);

	(void)request;
	table->title = "Why GPUs were idle";
	table->empty = "No GPU was idle.";
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	why_merge(&why);
	for (size_t i = 0; i < why.count; i++)
		all_ns += why.causes[i].ns;
	for (size_t i = 0; i < why.count && result == 0; i++)
		if (add_row(view, &why, &why.causes[i], all_ns, table))
			result = err_errno(err, -ENOMEM, "can't make the report gpu_why");
	if (result == 0 && report_note_gpu_doubts(view, COLUMN_DEVICE, table))
		result = err_errno(err, -ENOMEM, "can't make the report gpu_why");
	why_free(&why);
	return result;
}
