/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reports "allocations" (what was allocated in the window, by stack, the most bytes first) and "leaks" (what of it was not
 * freed, the oldest first).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reports/report_table.h"

struct row {
	const struct view *view;
	const struct record_heap_stack *record; /* a copy of the run's */
	u64 end_ns;				/* of the window */
};

/* How a cell is filled. */
typedef int cell_fill(const struct row *row, struct report_cell *cell);

#define COUNT_CELL(member)                                                        \
	static int fill_##member(const struct row *row, struct report_cell *cell) \
	{                                                                         \
		report_cell_count(cell, row->record->member);                     \
		return 0;                                                         \
	}
COUNT_CELL(calls)
COUNT_CELL(bytes)
COUNT_CELL(live_calls)
COUNT_CELL(live_bytes)
COUNT_CELL(peak_bytes)
COUNT_CELL(largest_bytes)
COUNT_CELL(failed_calls)

static int fill_average(const struct row *row, struct report_cell *cell)
{
	if (row->record->calls)
		report_cell_decimal(cell, (double)row->record->bytes / row->record->calls);
	return 0;
}

static int fill_live_average(const struct row *row, struct report_cell *cell)
{
	report_cell_decimal(cell, (double)row->record->live_bytes / row->record->live_calls);
	return 0;
}

static int fill_age(const struct row *row, struct report_cell *cell)
{
	report_cell_count(
		cell, row->end_ns > row->record->oldest ? row->end_ns - row->record->oldest : 0);
	return 0;
}

static int fill_pid(const struct row *row, struct report_cell *cell)
{
	report_cell_count(cell, row->record->header.pid);
	return 0;
}

static int fill_stack(const struct row *row, struct report_cell *cell)
{
	const struct record_header *header = &row->record->header;
	_cleanup_text_ struct text text = {0};

	if (!view_frames_append_lines(row->view, header->pid, header->stack, view_frame_append,
				      &text) &&
	    !text.length)
		text_append(&text, VIEW_FRAME_CUT "\n");
	return text.failed ? -ENOMEM : report_cell_text(cell, text_string(&text));
}

struct allocation_column {
	struct report_column column;
	cell_fill *fill;
};

/* clang-format off */
static const struct allocation_column allocations_columns[] = {
	{{"Bytes",           REPORT_COUNT,   0}, fill_bytes},
	{{"Calls",           REPORT_COUNT,   0}, fill_calls},
	{{"Live (bytes)",    REPORT_COUNT,   0}, fill_live_bytes},
	{{"Live Calls",      REPORT_COUNT,   0}, fill_live_calls},
	{{"Avg (bytes)",     REPORT_DECIMAL, 1}, fill_average},
	{{"Largest (bytes)", REPORT_COUNT,   0}, fill_largest_bytes},
	{{"Peak (bytes)",    REPORT_COUNT,   0}, fill_peak_bytes},
	{{"Failed",          REPORT_COUNT,   0}, fill_failed_calls},
	{{"PID",             REPORT_NUMBER,  0}, fill_pid},
	{{"Stack",           REPORT_LINES,   0}, fill_stack},
};

static const struct allocation_column leaks_columns[] = {
	{{"Oldest, Age (ns)", REPORT_COUNT,   0}, fill_age},
	{{"Live (bytes)",     REPORT_COUNT,   0}, fill_live_bytes},
	{{"Live Calls",       REPORT_COUNT,   0}, fill_live_calls},
	{{"Avg (bytes)",      REPORT_DECIMAL, 1}, fill_live_average},
	{{"Calls",            REPORT_COUNT,   0}, fill_calls},
	{{"PID",              REPORT_NUMBER,  0}, fill_pid},
	{{"Stack",            REPORT_LINES,   0}, fill_stack},
};
/* clang-format on */

static int compare_numbers(u64 left, u64 right)
{
	return left < right ? -1 : left > right;
}

static int by_bytes(const void *a, const void *b)
{
	const struct record_heap_stack *left = a, *right = b;
	int result = compare_numbers(right->bytes, left->bytes);

	if (!result)
		result = compare_numbers(right->calls, left->calls);
	return result ? result : compare_numbers(left->header.stack, right->header.stack);
}

static int by_age(const void *a, const void *b)
{
	const struct record_heap_stack *left = a, *right = b;
	int result = compare_numbers(left->oldest, right->oldest);

	return result ? result : compare_numbers(left->header.stack, right->header.stack);
}

static const struct allocation_report {
	const char *name, *title, *empty;
	const struct allocation_column *columns;
	size_t column_count;
	bool live; /* only those with anything live */
	int (*compare)(const void *a, const void *b);
} allocation_reports[] = {
	{"allocations", "Allocations of host memory in the window, by stack",
	 "No allocations of host memory were recorded (--alloc heap).", allocations_columns,
	 ARRAY_SIZE(allocations_columns), false, by_bytes},
	{"leaks",
	 "Allocated in the window and alive at its end, by stack, the oldest first: candidates for "
	 "leaks, no proof",
	 "Nothing that was recorded as allocated was alive at the end of the window.",
	 leaks_columns, ARRAY_SIZE(leaks_columns), true, by_age},
};

struct run {
	const struct allocation_report *report;
	const struct view *view;
	u64 end_ns;
	struct record_heap_stack *records;
	size_t count, capacity;
};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;

	run->view = view;
	run->end_ns = survey->window_end_ns;
	return 0;
}

static int run_total(void *data, const struct view_event *event, struct err *err)
{
	const struct record_heap_stack *record = (const void *)event->record;
	struct run *run = data;

	if (event->kind->number != KIND_heap_stack || (run->report->live && !record->live_calls))
		return 0;
	if (array_reserve(&run->records, &run->capacity, run->count + 1) < 0)
		return err_errno(err, -ENOMEM, "can't make the report %s", run->report->name);
	run->records[run->count++] = *record;
	return 0;
}

static int fill_table(struct run *run, struct report_table *table)
{
	const struct allocation_report *report = run->report;
	int result = 0;

	table->title = report->title;
	table->empty = report->empty;
	table->made_columns = calloc(report->column_count, sizeof(*table->made_columns));
	if (!table->made_columns)
		return -ENOMEM;
	for (size_t i = 0; i < report->column_count; i++)
		table->made_columns[i] = report->columns[i].column;
	table->columns = table->made_columns;
	table->column_count = report->column_count;
	if (run->count)
		qsort(run->records, run->count, sizeof(*run->records), report->compare);
	for (size_t i = 0; i < run->count && !result; i++) {
		const struct row row = {run->view, &run->records[i], run->end_ns};
		struct report_row *shown = report_table_add(table);

		if (!shown)
			return -ENOMEM;
		for (size_t j = 0; j < report->column_count && !result; j++)
			result = report->columns[j].fill(&row, &shown->cells[j]);
	}
	return result;
}

static void run_free(void *data)
{
	struct run *run = data;

	free(run->records);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;

	return fill_table(run, table) < 0
		       ? err_errno(err, -ENOMEM, "can't make the report %s", run->report->name)
		       : 0;
}

int report_allocations_begin(struct view *view, const struct report_request *request,
			     struct report_table *table, struct report_run *ret_run,
			     struct err *err)
{
	static const struct view_sink sink = {.open = run_open, .total = run_total};
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	(void)view, (void)table;
	run->report = allocation_reports;
	while (strcmp(run->report->name, request->report->name))
		run->report++;
	*ret_run = (struct report_run){
		.data = run, .part = {&sink, run}, .fill = run_fill, .free = run_free};
	return 0;
}
