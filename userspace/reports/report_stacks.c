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

/* A row with :idle that is left to threads that ran next to nothing, of so many. */
#define ROWS_TO_ONE_IDLE 3
#define IDLE_SHARE	 100 /* of its time that one ran for: less than the hundredth part */

enum column {
	COLUMN_THREADS = WAITS_COLUMNS,
	COLUMN_IDLE,
	COLUMN_NAME,
	COLUMN_FOR,
	COLUMN_STACK,
	COLUMNS
};

static const struct report_column columns[COLUMNS] = {
	WAITS_COLUMN_ROWS,
	[COLUMN_THREADS] = {"Threads", REPORT_COUNT},
	[COLUMN_IDLE] = {"Idle Threads", REPORT_COUNT},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
	[COLUMN_FOR] = {"For", REPORT_NAME},
	[COLUMN_STACK] = {"Stack", REPORT_LINES},
};

struct thread {
	u64 run_ns, life_ns; /* life 0: not known */
};

/* Of one thread, then of all of them, or with :idle of all that are idle, or are not. */
struct chain {
	struct wait_sum sum;
	const char *name; /* of the view */
	u32 name_id;
	size_t stack;  /* number of the chain */
	size_t waited; /* number of what it was for */
	bool is_held;  /* a lock that a thread had */
	size_t thread; /* place in threads */
	u64 threads, idle_threads;
};

struct chains {
	struct chain *items;
	size_t count, capacity;
	struct map places;
};

struct run {
	struct stack_strings stacks;
	struct map thread_places; /* (pid, tid) -> place in threads */
	struct thread *threads;
	size_t thread_count, thread_capacity;
	struct chains of_threads, rows;
	bool idle_apart; /* :idle */
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

/* SIZE_MAX: no memory. */
static size_t thread_of(struct run *run, const struct record_header *record)
{
	u64 *place = map_find(&run->thread_places, record->pid, record->tid);

	if (place)
		return *place;
	if (array_reserve(&run->threads, &run->thread_capacity, run->thread_count + 1) ||
	    map_set(&run->thread_places, record->pid, record->tid, run->thread_count))
		return SIZE_MAX;
	run->threads[run->thread_count] = (struct thread){0};
	return run->thread_count++;
}

/* The one of the key (a, b), or a new one as first is, without waits. NULL: no memory. */
static struct chain *chain_of(struct chains *chains, u64 a, u64 b, const struct chain *first)
{
	u64 *place = map_find(&chains->places, a, b);

	if (place)
		return &chains->items[*place];
	if (array_reserve(&chains->items, &chains->capacity, chains->count + 1) ||
	    map_set(&chains->places, a, b, chains->count))
		return NULL;
	chains->items[chains->count] = *first;
	chains->items[chains->count].sum = (struct wait_sum){0};
	return &chains->items[chains->count++];
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct run *run = data;
	struct chain *chain = NULL;
	s64 stack, waited;
	size_t thread;

	if (event->kind->number != KIND_off_cpu)
		return 0;
	stack = stack_strings_number(&run->stacks, event->record);
	waited = waited_number(run, event->record);
	thread = thread_of(run, event->record);
	if (stack >= 0 && waited >= 0 && thread != SIZE_MAX)
		chain = chain_of(&run->of_threads, (u64)event->record->name << 32 | thread,
				 (u64)waited << 32 | (u64)stack,
				 &(struct chain){.name = event->name,
						 .name_id = event->record->name,
						 .stack = (size_t)stack,
						 .waited = (size_t)waited,
						 .is_held = wait->holder_tid,
						 .thread = thread});
	if (!chain)
		return err_errno(err, -ENOMEM, "can't make the report off_cpu_stacks");
	wait_sum_add(&chain->sum, event->dur);
	return 0;
}

static int run_total(void *data, const struct view_event *event, struct err *err)
{
	const struct record_thread_time *time = (const void *)event->record;
	struct run *run = data;
	size_t thread;

	if (event->kind->number != KIND_thread_time)
		return 0;
	thread = thread_of(run, event->record);
	if (thread == SIZE_MAX)
		return err_errno(err, -ENOMEM, "can't make the report off_cpu_stacks");
	run->threads[thread].run_ns += time->run_ns == ~0ULL ? 0 : time->run_ns;
	run->threads[thread].life_ns += event->dur;
	return 0;
}

static bool is_idle(const struct run *run, const struct chain *chain)
{
	const struct thread *thread = &run->threads[chain->thread];

	return !chain->is_held && thread->run_ns < thread->life_ns / IDLE_SHARE;
}

static int sum_up(struct run *run)
{
	for (size_t i = 0; i < run->of_threads.count; i++) {
		const struct chain *chain = &run->of_threads.items[i];
		bool idle = is_idle(run, chain);
		struct chain *row =
			chain_of(&run->rows, (u64)chain->name_id << 1 | (run->idle_apart && idle),
				 (u64)chain->waited << 32 | chain->stack, chain);

		if (!row)
			return -ENOMEM;
		wait_sum_join(&row->sum, &chain->sum);
		row->threads++;
		row->idle_threads += idle;
	}
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

static int fill_row(const struct run *run, const struct chain *chain, double all_ns,
		    struct report_table *table)
{
	const char *const *strings = (const char *const *)run->stacks.strings.strings;
	struct report_row *row = report_table_add(table);

	if (!row)
		return -ENOMEM;
	wait_sum_fill(&chain->sum, all_ns, row);
	report_cell_count(&row->cells[COLUMN_THREADS], chain->threads);
	report_cell_count(&row->cells[COLUMN_IDLE], chain->idle_threads);
	return report_cell_text(&row->cells[COLUMN_NAME], chain->name) ||
			       report_cell_text(&row->cells[COLUMN_FOR], strings[chain->waited]) ||
			       report_cell_text(&row->cells[COLUMN_STACK], strings[chain->stack])
		       ? -ENOMEM
		       : 0;
}

/* The next one from place on that is as it should be. */
static size_t next_of(const struct run *run, size_t place, bool idle)
{
	while (place < run->rows.count && (run->rows.items[place].idle_threads > 0) != idle)
		place++;
	return place;
}

/* With :idle one row of so many is one of those, as long as there are others: what a pool does that has nothing to do takes no room from
 * what a busy thread waits for, and what is stuck is still seen. */
static int fill_table(struct run *run, struct report_table *table)
{
	const struct chains *rows = &run->rows;
	size_t busy, idle;
	double all_ns = 0;
	int result = 0;

	qsort(rows->items, rows->count, sizeof(*rows->items), compare_chains);
	for (size_t i = 0; i < rows->count; i++)
		all_ns += rows->items[i].sum.total_ns;
	for (size_t i = 0; i < rows->count && !run->idle_apart && !result; i++)
		result = fill_row(run, &rows->items[i], all_ns, table);
	if (!run->idle_apart)
		return result;
	busy = next_of(run, 0, false);
	idle = next_of(run, 0, true);
	for (size_t i = 0; i < rows->count && !result; i++) {
		bool take_idle =
			busy == rows->count ||
			(i % ROWS_TO_ONE_IDLE == ROWS_TO_ONE_IDLE - 1 && idle < rows->count);
		size_t *next = take_idle ? &idle : &busy;

		result = fill_row(run, &rows->items[*next], all_ns, table);
		*next = next_of(run, *next + 1, take_idle);
	}
	return result;
}

static void chains_free(struct chains *chains)
{
	free(chains->items);
	map_free(&chains->places);
}

static void run_free(void *data)
{
	struct run *run = data;

	free(run->threads);
	map_free(&run->thread_places);
	chains_free(&run->of_threads);
	chains_free(&run->rows);
	stack_strings_free(&run->stacks);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;

	if (run->of_threads.count && (sum_up(run) < 0 || fill_table(run, table) < 0))
		return err_errno(err, -ENOMEM, "can't make the report off_cpu_stacks");
	return 0;
}

int report_stacks_begin(struct view *view, const struct report_request *request,
			struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink sink = {.span = run_span, .total = run_total};
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	*run = (struct run){.stacks = {.view = view}, .idle_apart = request->idle};
	table->title =
		"Off-CPU by stack (innermost function first; what was open counts to the end)";
	table->empty = "No waits were recorded.";
	table->columns = columns;
	table->column_count = COLUMNS;
	*ret_run = (struct report_run){
		.data = run, .part = {&sink, run}, .fill = run_fill, .free = run_free};
	return 0;
}
