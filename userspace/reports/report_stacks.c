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
#include "reports/report_waits.h"
#include "reports/stack_strings.h"

enum column { COLUMN_NAME = WAITS_COLUMNS, COLUMN_FOR, COLUMN_STACK, COLUMNS };

static const struct report_column columns[COLUMNS] = {
	WAITS_COLUMN_ROWS,
	[COLUMN_NAME] = {"Name", REPORT_NAME},
	[COLUMN_FOR] = {"For", REPORT_NAME},
	[COLUMN_STACK] = {"Stack", REPORT_LINES},
};

struct chain {
	struct wait_sum sum;
	const char *name; /* of the view */
	size_t stack;	  /* number of the chain */
	size_t waited;	  /* number of what it was for */
};

struct run {
	struct stack_strings stacks;
	struct map places; /* (name, what it was for and chain) -> place in chains */
	struct chain *chains;
	size_t count, capacity;
};

/* What a wait was for, as a string with a number: a file, a lock that a thread had, or nothing that is known. */
static s64 waited_number(struct run *run, const struct record_header *record)
{
	const struct record_off_cpu *wait = (const void *)record;
	const struct view *view = run->stacks.view;
	const char *what = view_text(view, wait->waited), *name;
	_cleanup_text_ struct text text = {0};

	if (what) {
		text_append(&text, what);
	} else if (wait->holder_tid) {
		name = view_task_name(view, record->pid, wait->holder_tid);
		text_appendf(&text, "lock that %s (%u) had", name ? name : "a thread",
			     wait->holder_tid);
	}
	return text.failed
		       ? -ENOMEM
		       : string_table_add(&run->stacks.strings, text_string(&text), text.length);
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	struct chain *chain;
	s64 stack, waited;
	u64 *place, key;

	if (event->kind->number != KIND_off_cpu)
		return 0;
	stack = stack_strings_number(&run->stacks, event->record);
	waited = waited_number(run, event->record);
	if (stack < 0 || waited < 0)
		return err_errno(err, -ENOMEM, "can't make the report off_cpu_stacks");
	key = (u64)waited << 32 | (u64)stack;
	place = map_find(&run->places, event->record->name, key);
	if (!place) {
		if (array_reserve(&run->chains, &run->capacity, run->count + 1) ||
		    map_set(&run->places, event->record->name, key, run->count))
			return err_errno(err, -ENOMEM, "can't make the report off_cpu_stacks");
		run->chains[run->count++] = (struct chain){
			.name = event->name, .stack = (size_t)stack, .waited = (size_t)waited};
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
	if (left->stack != right->stack)
		return left->stack > right->stack ? 1 : -1;
	return (left->waited > right->waited) - (left->waited < right->waited);
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
		    report_cell_text(&row->cells[COLUMN_FOR],
				     run->stacks.strings.strings[chain->waited]) ||
		    report_cell_text(&row->cells[COLUMN_STACK],
				     run->stacks.strings.strings[chain->stack]))
			return -ENOMEM;
	}
	return 0;
}

int report_stacks_make(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.span = run_span};
	struct run run = {.stacks = {.view = view}};
	int result = view_run(view, &sink, &run, err);

	table->title =
		"Off-CPU by stack (innermost function first; what was open counts to the end)";
	table->empty = "No waits were recorded.";
	table->columns = columns;
	table->column_count = COLUMNS;
	if (result == 0 && run.count && fill_table(&run, table) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	free(run.chains);
	map_free(&run.places);
	stack_strings_free(&run.stacks);
	return result;
}
