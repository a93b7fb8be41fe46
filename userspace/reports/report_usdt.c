/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report "usdt": how often each USDT probe was hit, and how long what lies between the two of a pair took. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "reports/report_table.h"
#include "reports/statistics.h"

/* Of durations; beyond it they are sorted in a file. */
#define MEMORY_BYTES (32 << 20)

enum column {
	COLUMN_COUNT,
	COLUMN_TOTAL,
	COLUMN_AVERAGE,
	COLUMN_MEDIAN,
	COLUMN_MINIMUM,
	COLUMN_MAXIMUM,
	COLUMN_DEVIATION,
	COLUMN_NAME,
	COLUMN_BINARY,
	COLUMNS,
};

static const struct report_column columns[COLUMNS] = {
	[COLUMN_COUNT] = {"Count", REPORT_COUNT},
	[COLUMN_TOTAL] = {"Total Time (ns)", REPORT_COUNT},
	[COLUMN_AVERAGE] = {"Avg (ns)", REPORT_DECIMAL, 1},
	[COLUMN_MEDIAN] = {"Med (ns)", REPORT_DECIMAL, 1},
	[COLUMN_MINIMUM] = {"Min (ns)", REPORT_COUNT},
	[COLUMN_MAXIMUM] = {"Max (ns)", REPORT_COUNT},
	[COLUMN_DEVIATION] = {"StdDev (ns)", REPORT_DECIMAL, 1},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
	[COLUMN_BINARY] = {"Binary", REPORT_TEXT},
};

struct run {
	const struct view *view;
	struct statistics *statistics;
};

static int row_of(const struct run *sums, const struct view_event *event, u32 usdt, u32 *ret_row,
		  struct err *err)
{
	const struct record_usdt *fact =
		(const struct record_usdt *)view_fact(sums->view, KIND_usdt, usdt);
	const char *binary = fact ? view_text(sums->view, fact->binary) : NULL;

	return statistics_function(sums->statistics, event->name, binary ? binary : "", ret_row,
				   err);
}

/* A span whose end was not seen has a time that says when this was noticed. */
static int sums_span(void *data, const struct view_event *event, struct err *err)
{
	const struct record_usdt_span *span = (const struct record_usdt_span *)event->record;
	const struct run *sums = data;
	u32 row;
	int result;

	if (event->kind->number != KIND_usdt_span)
		return 0;
	result = row_of(sums, event, span->usdt, &row, err);
	if (result < 0)
		return result;
	if (!event->open && span->ended == VALUE_usdt_ended_ended)
		return statistics_add(sums->statistics, row, event->dur, err);
	statistics_add_untimed(sums->statistics, row);
	return 0;
}

static int sums_point(void *data, const struct view_event *event, struct err *err)
{
	const struct record_usdt_point *point = (const struct record_usdt_point *)event->record;
	const struct run *sums = data;
	u32 row;
	int result;

	if (event->kind->number != KIND_usdt_point)
		return 0;
	result = row_of(sums, event, point->usdt, &row, err);
	if (result == 0)
		statistics_add_untimed(sums->statistics, row);
	return result;
}

static const struct view_sink run_sink = {
	.span = sums_span,
	.point = sums_point,
};

static int add_note(struct report_row *row, const struct statistics_row *sum)
{
	struct text note _cleanup_text_ = {0};

	if (!sum->timed_count || sum->timed_count == sum->call_count)
		return 0;
	text_appendf(&note,
		     "%s: of %llu spans %llu have no duration, since their end was not seen: they "
		     "count, but not in the times",
		     sum->name, (unsigned long long)sum->call_count,
		     (unsigned long long)(sum->call_count - sum->timed_count));
	if (note.failed)
		return -ENOMEM;
	row->note = take_pointer(&note.data);
	return 0;
}

static int add_row(struct report_table *table, const struct statistics_row *sum)
{
	struct report_row *row = report_table_add(table);
	struct report_cell *cells;

	if (!row || report_cell_text(&row->cells[COLUMN_NAME], sum->name) < 0 ||
	    report_cell_text(&row->cells[COLUMN_BINARY], path_base_name(sum->binary)) < 0)
		return -ENOMEM;
	cells = row->cells;
	report_cell_count(&cells[COLUMN_COUNT], sum->call_count);
	if (sum->timed_count) {
		report_cell_count(&cells[COLUMN_TOTAL], sum->total_ns);
		report_cells_figures(&cells[COLUMN_AVERAGE], sum);
	}
	return add_note(row, sum);
}

static int fill(const struct statistics_row *rows, size_t count, struct report_table *table)
{
	_cleanup_free_ const struct statistics_row **order = calloc(count + 1, sizeof(*order));
	int result = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = &rows[i];
	qsort(order, count, sizeof(*order), statistics_compare_by_time);
	for (size_t i = 0; i < count && result == 0; i++)
		result = add_row(table, order[i]);
	return result;
}

static void run_free(void *data)
{
	struct run *run = data;

	statistics_free(run->statistics);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	const struct run *run = data;
	const struct statistics_row *rows;
	size_t count;
	int result = statistics_finish(run->statistics, &rows, &count, err);

	if (result == 0 && (result = fill(rows, count, table)) < 0)
		err_errno(err, result, "can't make the report usdt");
	return result;
}

int report_usdt_begin(struct view *view, const struct report_request *request,
		      struct report_table *table, struct report_run *ret_run, struct err *err)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	run->view = view;
	table->title = "USDT Summary: probes, and pairs of them by the time between both";
	table->empty = "No USDT probes were hit.";
	table->empty_cells = "Probes without times are points.";
	table->columns = columns;
	table->column_count = COLUMNS;
	*ret_run = (struct report_run){
		.data = run, .part = {&run_sink, run}, .fill = run_fill, .free = run_free};
	return statistics_create(MEMORY_BYTES, &run->statistics, err);
}
