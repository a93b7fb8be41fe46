/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "blocked_by": which thread waited until which other one woke it, in what, and what that one ran meanwhile, by its samples.
 * A row is a pair of threads and a name of waits. With :alike, for a screen, threads of a process are one row where their names
 * are the same but for a number at the end, and one thread woke them; its first thread is none of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/text.h"
#include "reports/report_waits.h"
#include "reports/thread_names.h"

enum column {
	COLUMN_WAIT = WAITS_COLUMNS,
	COLUMN_TID,
	COLUMN_THREAD,
	COLUMN_WAKER_TID,
	COLUMN_WAKER,
	COLUMN_RAN,
	COLUMNS
};

static const struct report_column columns[COLUMNS] = {
	WAITS_COLUMN_ROWS,
	[COLUMN_WAIT] = {"Waited in", REPORT_NAME},
	[COLUMN_TID] = {"TID", REPORT_NUMBER},
	[COLUMN_THREAD] = {"Thread", REPORT_NAME},
	[COLUMN_WAKER_TID] = {"Waker TID", REPORT_NUMBER},
	[COLUMN_WAKER] = {"Woken by", REPORT_NAME},
	[COLUMN_RAN] = {"Which ran", REPORT_NAME},
};

struct pair {
	struct wait_sum sum;
	const char *wait;     /* of the view */
	u64 waiter, waker;    /* pid << 32 | tid; of several waiters the first that came, */
	u64 waiters;	      /* so many, */
	bool names_differ;    /* which are not all called alike */
	const char *stranger; /* of the view: the waker's name, where it is of no target; or NULL */
	u64 ran_ns;	      /* of the function below */
	s64 ran;	      /* its number; -1: no sample of the waker fell into a wait */
};

/* A wait that goes on. */
struct active {
	u64 waker, end;
	size_t pair;
};

struct run {
	const struct view *view;
	struct map places; /* (waiter and name, waker) -> place in pairs */
	struct pair *pairs;
	size_t count, capacity;
	struct active *active;
	size_t active_count, active_capacity, active_most;
	struct string_table functions;
	struct map ran; /* (pair, function) -> ns */
	bool folds;	/* :alike */
	struct string_table alike;
	struct map waiter_keys; /* (pid, tid) -> key of the thread, or of those that it is alike */
	struct map waiters;	/* (pair, waiter): it is counted */
};

static u64 thread_key(u32 pid, u32 tid)
{
	return (u64)pid << 32 | tid;
}

/* Of all threads that it is alike. 0: no memory. */
static u64 alike_key(struct run *run, u32 pid, const char *name)
{
	char words[128];
	s64 number;

	snprintf(words, sizeof(words), "%u %.*s", pid, (int)thread_name_stem_length(name), name);
	number = string_table_add(&run->alike, words, strlen(words));
	/* No thread has such a number. */
	return number < 0 ? 0 : thread_key(0, 1U << 31 | (u32)number);
}

/* 0: no memory. */
static u64 waiter_key(struct run *run, u32 pid, u32 tid)
{
	u64 *known = run->folds ? map_find(&run->waiter_keys, pid, tid) : NULL;
	u64 key = thread_key(pid, tid);
	const char *name;

	if (known || !run->folds)
		return known ? *known : key;
	name = view_task_name(run->view, pid, tid);
	if (tid != pid && name)
		key = alike_key(run, pid, name);
	return map_set(&run->waiter_keys, pid, tid, key) ? 0 : key;
}

static int count_waiter(struct run *run, size_t place, u64 waiter)
{
	struct pair *pair = &run->pairs[place];
	const char *name, *first;

	if (!run->folds || map_find(&run->waiters, place, waiter))
		return 0;
	name = view_task_name(run->view, waiter >> 32, (u32)waiter);
	first = view_task_name(run->view, pair->waiter >> 32, (u32)pair->waiter);
	pair->waiters++;
	pair->names_differ |= name && first && strcmp(name, first);
	return map_set(&run->waiters, place, waiter, 1);
}

/* SIZE_MAX: no memory. */
static size_t pair_of(struct run *run, const struct view_event *event)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	u64 waiter = waiter_key(run, event->record->pid, event->record->tid);
	u64 waker = thread_key(wait->waker_pid, wait->waker_tid);
	/* Names are few: their numbers are no larger than those of threads, which the upper half does not need. */
	u64 key = waiter ^ (u64)event->record->name << 40;
	u64 *place = waiter ? map_find(&run->places, key, waker) : NULL;

	if (place)
		return *place;
	if (!waiter || array_reserve(&run->pairs, &run->capacity, run->count + 1) ||
	    map_set(&run->places, key, waker, run->count))
		return SIZE_MAX;
	run->pairs[run->count] =
		(struct pair){.wait = event->name,
			      .waiter = thread_key(event->record->pid, event->record->tid),
			      .waker = waker,
			      .stranger = view_text(run->view, wait->waker),
			      .ran = -1};
	return run->count++;
}

static void forget_ended(struct run *run, u64 ts)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->active_count; i++)
		if (run->active[i].end > ts)
			run->active[kept++] = run->active[i];
	run->active_count = kept;
}

static int note_active(struct run *run, const struct view_event *event, size_t pair)
{
	if (run->active_count > run->active_most) {
		forget_ended(run, event->ts);
		run->active_most = 2 * run->active_count + 64;
	}
	if (array_reserve(&run->active, &run->active_capacity, run->active_count + 1))
		return -ENOMEM;
	run->active[run->active_count++] =
		(struct active){run->pairs[pair].waker, event->end, pair};
	return 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct run *run = data;
	size_t pair;

	if (event->kind->number != KIND_off_cpu || event->open ||
	    wait->woken_by != VALUE_woken_by_thread ||
	    wait->reason == VALUE_off_cpu_reason_preempted)
		return 0;
	pair = pair_of(run, event);
	if (pair == SIZE_MAX || note_active(run, event, pair) ||
	    count_waiter(run, pair, thread_key(event->record->pid, event->record->tid)))
		return err_errno(err, -ENOMEM, "can't make the report of blockers");
	wait_sum_add(&run->pairs[pair].sum, event->dur);
	return 0;
}

static int add_ran(struct run *run, size_t place, const struct view_event *event)
{
	struct pair *pair = &run->pairs[place];
	s64 number = string_table_add(&run->functions, event->name, strlen(event->name));
	u64 *known, ns;

	if (number < 0)
		return -ENOMEM;
	known = map_find(&run->ran, place, (u64)number);
	ns = (known ? *known : 0) + event->weight_ns;
	if (map_set(&run->ran, place, (u64)number, ns))
		return -ENOMEM;
	if (ns > pair->ran_ns) {
		pair->ran_ns = ns;
		pair->ran = number;
	}
	return 0;
}

/* What a thread runs while others wait for it. */
static int run_point(void *data, const struct view_event *event, struct err *err)
{
	u64 thread = thread_key(event->record->pid, event->record->tid);
	struct run *run = data;

	if (event->kind->number != KIND_sample)
		return 0;
	for (size_t i = 0; i < run->active_count; i++)
		if (run->active[i].waker == thread && run->active[i].end > event->ts &&
		    add_ran(run, run->active[i].pair, event))
			return err_errno(err, -ENOMEM, "can't make the report of blockers");
	return 0;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *left = a, *right = b;

	if (left->sum.total_ns != right->sum.total_ns)
		return left->sum.total_ns < right->sum.total_ns ? 1 : -1;
	if (left->waiter != right->waiter)
		return left->waiter < right->waiter ? -1 : 1;
	return (left->waker > right->waker) - (left->waker < right->waker);
}

static const char *thread_name(const struct view *view, u64 thread, const char *stranger)
{
	return wait_thread_name(view, thread >> 32, (u32)thread, stranger);
}

static int fill_row(const struct run *run, const struct pair *pair, double all,
		    struct report_row *row)
{
	_cleanup_text_ struct text waiter = {0};

	thread_names_append(&waiter, thread_name(run->view, pair->waiter, NULL), pair->names_differ,
			    pair->waiters);
	wait_sum_fill(&pair->sum, all, row);
	if (pair->waiters <= 1)
		report_cell_count(&row->cells[COLUMN_TID], (u32)pair->waiter);
	report_cell_count(&row->cells[COLUMN_WAKER_TID], (u32)pair->waker);
	if (waiter.failed || report_cell_text(&row->cells[COLUMN_WAIT], pair->wait) ||
	    report_cell_text(&row->cells[COLUMN_THREAD], text_string(&waiter)) ||
	    report_cell_text(&row->cells[COLUMN_WAKER],
			     thread_name(run->view, pair->waker, pair->stranger)))
		return -ENOMEM;
	return pair->ran < 0 ? 0
			     : report_cell_text(&row->cells[COLUMN_RAN],
						run->functions.strings[pair->ran]);
}

static int fill_table(struct run *run, struct report_table *table)
{
	double all = 0;

	if (run->count)
		qsort(run->pairs, run->count, sizeof(*run->pairs), compare_pairs);
	for (size_t i = 0; i < run->count; i++)
		all += run->pairs[i].sum.total_ns;
	for (size_t i = 0; i < run->count; i++) {
		struct report_row *row = report_table_add(table);

		if (!row || fill_row(run, &run->pairs[i], all, row))
			return -ENOMEM;
	}
	return 0;
}

int report_blockers_make(struct view *view, const struct report_request *request,
			 struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.span = run_span, .point = run_point};
	struct run run = {.view = view, .folds = request->alike};
	int result = view_run(view, &sink, &run, err);

	table->title = "Off-CPU until another thread woke it";
	table->empty = "No thread was woken by another one.";
	table->empty_cells =
		run.folds ? "Rows without a TID: threads that are alike. Without what the waker "
			    "ran: no sample of it fell into a wait."
			  : "Rows without what the waker ran: no sample of it fell into a wait.";
	table->columns = columns;
	table->column_count = COLUMNS;
	if (result == 0 && fill_table(&run, table) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	free(run.pairs);
	free(run.active);
	map_free(&run.places);
	map_free(&run.ran);
	map_free(&run.waiters);
	map_free(&run.waiter_keys);
	string_table_free(&run.alike);
	string_table_free(&run.functions);
	return result;
}
