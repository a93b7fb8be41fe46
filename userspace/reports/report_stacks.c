/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "off_cpu_stacks": for what, and where in the code, threads were off their CPU. A row is a chain of functions: where
 * in them does not tell chains apart, nor which thread it was.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "reports/report_waits.h"

enum column { COLUMN_NAME = WAITS_COLUMNS, COLUMN_STACK, COLUMNS };

static const struct report_column columns[COLUMNS] = {
	WAITS_COLUMN_ROWS,
	[COLUMN_NAME] = {"Name", REPORT_NAME},
	[COLUMN_STACK] = {"Stack", REPORT_LINES},
};

struct chain {
	struct wait_sum sum;
	const char *name; /* of the view */
	size_t stack;	  /* in strings */
};

struct run {
	const struct view *view;
	struct string_table strings;
	struct map by_stack; /* (pid and stack) -> number of its string */
	struct map places;   /* (name, string) -> place in chains */
	struct chain *chains;
	size_t count, capacity;
};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	(void)survey;
	(void)err;
	((struct run *)data)->view = view;
	return 0;
}

static s64 stack_string(struct run *run, const struct record_header *record)
{
	_cleanup_text_ struct text text = {0};
	u64 pid = record->pid, *known = map_find(&run->by_stack, pid, record->stack);
	s64 number;

	if (known)
		return *known;
	view_frames_append_lines(run->view, record->pid, record->stack, view_frame_append_name,
				 &text);
	number = string_table_add(&run->strings, text_string(&text), text.length);
	if (text.failed || number < 0 || map_set(&run->by_stack, pid, record->stack, number))
		return -ENOMEM;
	return number;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	struct chain *chain;
	s64 stack;
	u64 *place;

	if (event->kind->number != KIND_off_cpu)
		return 0;
	stack = stack_string(run, event->record);
	if (stack < 0)
		return err_errno(err, -ENOMEM, "can't make the report off_cpu_stacks");
	place = map_find(&run->places, event->record->name, stack);
	if (!place) {
		if (array_reserve(&run->chains, &run->capacity, run->count + 1) ||
		    map_set(&run->places, event->record->name, stack, run->count))
			return err_errno(err, -ENOMEM, "can't make the report off_cpu_stacks");
		run->chains[run->count++] = (struct chain){.name = event->name, .stack = stack};
		chain = &run->chains[run->count - 1];
	} else {
		chain = &run->chains[*place];
	}
	wait_sum_add(&chain->sum, event->dur);
	return 0;
}

static int compare_chains(const void *a, const void *b)
{
	const struct chain *left = a, *right = b;

	if (left->sum.total_ns != right->sum.total_ns)
		return left->sum.total_ns < right->sum.total_ns ? 1 : -1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

static int fill_table(struct run *run, struct report_table *table)
{
	double all = 0;

	qsort(run->chains, run->count, sizeof(*run->chains), compare_chains);
	for (size_t i = 0; i < run->count; i++)
		all += run->chains[i].sum.total_ns;
	for (size_t i = 0; i < run->count; i++) {
		const struct chain *chain = &run->chains[i];
		struct report_row *row = report_table_add(table);

		if (!row)
			return -ENOMEM;
		wait_sum_fill(&chain->sum, all, row);
		if (report_cell_text(&row->cells[COLUMN_NAME], chain->name) ||
		    report_cell_text(&row->cells[COLUMN_STACK], run->strings.strings[chain->stack]))
			return -ENOMEM;
	}
	return 0;
}

int report_stacks_make(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run run = {0};
	int result = view_run(view, &sink, &run, err);

	table->title =
		"Off-CPU by stack (innermost function first; what was open counts to the end)";
	table->empty = "No waits were recorded.";
	table->columns = columns;
	table->column_count = COLUMNS;
	if (result == 0 && run.count && fill_table(&run, table) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	free(run.chains);
	map_free(&run.by_stack);
	map_free(&run.places);
	string_table_free(&run.strings);
	return result;
}
