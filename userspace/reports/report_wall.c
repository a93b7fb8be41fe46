/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "wall": where in the code, and in which state, the time of threads went. Its rows add up to the lives of all threads in the
 * window, to the ns: one of them is what the others tell of twice. A row is a state, what was waited in, and a chain of functions; where in them does not tell chains apart.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "reports/report_table.h"
#include "reports/stack_strings.h"

enum column {
	COLUMN_SHARE,
	COLUMN_TIME,
	COLUMN_COUNT,
	COLUMN_STATE,
	COLUMN_NAME,
	COLUMN_STACK,
	COLUMNS
};

static const struct report_column columns[COLUMNS] = {
	[COLUMN_SHARE] = {"Time (%)", REPORT_DECIMAL, 1},
	[COLUMN_TIME] = {"Total Time (ns)", REPORT_DECIMAL, 0},
	[COLUMN_COUNT] = {"Count", REPORT_COUNT},
	[COLUMN_STATE] = {"State", REPORT_TEXT},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
	[COLUMN_STACK] = {"Stack", REPORT_LINES},
};

#define NO_STACK SIZE_MAX

struct spent {
	s64 ns; /* below 0: what others tell of twice */
	u64 count;
	enum view_wall_state state;
	const char *name; /* of the view, or constant */
	size_t stack;	  /* number of the chain, or NO_STACK */
};

struct run {
	const struct view *view;
	struct stack_strings stacks;
	struct map places; /* (state and name, chain) -> place in rows */
	struct spent *rows;
	size_t count, capacity;
};

/* The names are the view's, or constant: the same one is in the same place. */
static int add(struct run *run, const struct view_wall_piece *piece, const char *name, size_t stack)
{
	u64 key = (u64)(uintptr_t)name * VIEW_WALL_STATES + piece->state;
	u64 *place = map_find(&run->places, key, stack);

	if (!place) {
		if (array_reserve(&run->rows, &run->capacity, run->count + 1) ||
		    map_set(&run->places, key, stack, run->count))
			return -ENOMEM;
		run->rows[run->count++] =
			(struct spent){.state = piece->state, .name = name, .stack = stack};
		place = map_find(&run->places, key, stack);
	}
	run->rows[*place].ns += piece->state == VIEW_WALL_BEYOND ? -(s64)piece->ns : (s64)piece->ns;
	run->rows[*place].count++;
	return 0;
}

static int run_event(void *data, const struct view_event *event, struct err *err)
{
	struct view_wall_piece pieces[VIEW_WALL_PIECES_MAX];
	struct run *run = data;
	size_t count = view_wall_pieces(run->view, event, pieces);

	for (size_t i = 0; i < count; i++) {
		const char *why = pieces[i].why;
		/* A sample is called by its innermost function, which is in the stack. */
		const char *name = event->kind->number == KIND_off_cpu ? event->name : "";
		s64 stack = why ? 0 : stack_strings_number(&run->stacks, event->record);

		if (stack < 0 ||
		    add(run, &pieces[i], why ? why : name, why ? NO_STACK : (size_t)stack))
			return err_errno(err, -ENOMEM, "can't make the report wall");
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct spent *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	if (left->state != right->state)
		return left->state < right->state ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

static int fill_row(const struct run *run, const struct spent *spent, s64 all_ns,
		    struct report_row *row)
{
	report_cell_decimal(&row->cells[COLUMN_SHARE],
			    all_ns ? 100.0 * (double)spent->ns / (double)all_ns : 0);
	report_cell_decimal(&row->cells[COLUMN_TIME], (double)spent->ns);
	report_cell_count(&row->cells[COLUMN_COUNT], spent->count);
	if (report_cell_text(&row->cells[COLUMN_STATE], view_wall_word(spent->state)) ||
	    (spent->name[0] && report_cell_text(&row->cells[COLUMN_NAME], spent->name)))
		return -ENOMEM;
	if (spent->stack == NO_STACK)
		return 0;
	return report_cell_text(&row->cells[COLUMN_STACK],
				run->stacks.strings.strings[spent->stack]);
}

int report_wall_make(struct view *view, const struct report_request *request,
		     struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.span = run_event, .point = run_event, .total = run_event};
	struct run run = {.view = view, .stacks = {.view = view}};
	int result = view_run(view, &sink, &run, err);
	s64 all_ns = 0;

	table->title = "Time of threads by stack (innermost function first)";
	table->empty = "Neither samples nor waits were recorded.";
	table->empty_cells = "Rows without a stack: only the scheduler knows of that time.";
	table->columns = columns;
	table->column_count = COLUMNS;
	if (run.count)
		qsort(run.rows, run.count, sizeof(*run.rows), compare_rows);
	for (size_t i = 0; i < run.count; i++)
		all_ns += run.rows[i].ns;
	for (size_t i = 0; i < run.count && result == 0; i++) {
		struct report_row *row = report_table_add(table);

		if (!row || fill_row(&run, &run.rows[i], all_ns, row))
			result = err_errno(err, -ENOMEM, "can't make the report %s",
					   request->report->name);
	}
	free(run.rows);
	map_free(&run.places);
	stack_strings_free(&run.stacks);
	return result;
}
