/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "blocked_by": which thread waited until which other one woke it, in what, and what that one ran meanwhile, by its samples.
 * A row is a pair of threads and a name of waits. With :alike, for a screen, they are one row where on both sides are threads that are alike:
 * of a process those whose names are the same but for a number at the end, and the first threads of processes of one name.
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

struct side {
	u64 first;	   /* pid << 32 | tid; of several the first that came, */
	u64 count;	   /* so many, */
	bool names_differ; /* which are not all called alike */
};

struct pair {
	struct wait_sum sum;
	const char *wait; /* of the view */
	struct side waiter, waker;
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
	struct map keys; /* (pid, tid) -> key of the thread, or of those that it is alike */
	struct map waiters, wakers; /* (pair, thread): it is counted */
};

static u64 thread_key(u32 pid, u32 tid)
{
	return (u64)pid << 32 | tid;
}

/* Of all threads that it is alike. pid 0: of any process. 0: no memory. */
static u64 alike_key(struct run *run, u32 pid, const char *name)
{
	_cleanup_text_ struct text words = {0};
	s64 number;

	text_appendf(&words, "%u %.*s", pid,
		     (int)(pid ? thread_name_stem_length(name) : strlen(name)), name);
	number = words.failed ? -ENOMEM
			      : string_table_add(&run->alike, text_string(&words), words.length);
	/* No thread has such a number. */
	return number < 0 ? 0 : thread_key(0, 1U << 31 | (u32)number);
}

/* 0: no memory. */
static u64 side_key(struct run *run, u32 pid, u32 tid)
{
	u64 *known = run->folds ? map_find(&run->keys, pid, tid) : NULL;
	u64 key = thread_key(pid, tid);
	const char *name;

	if (known || !run->folds)
		return known ? *known : key;
	name = tid == pid ? view_process_name(run->view, pid) : view_task_name(run->view, pid, tid);
	if (name && *name)
		key = alike_key(run, tid == pid ? 0 : pid, name);
	return map_set(&run->keys, pid, tid, key) ? 0 : key;
}

static int count_thread(struct run *run, struct map *counted, size_t place, struct side *side,
			u64 thread)
{
	const char *name, *first;

	if (!run->folds || map_find(counted, place, thread))
		return 0;
	name = view_task_name(run->view, thread >> 32, (u32)thread);
	first = view_task_name(run->view, side->first >> 32, (u32)side->first);
	side->count++;
	side->names_differ |= name && first && strcmp(name, first);
	return map_set(counted, place, thread, 1);
}

/* SIZE_MAX: no memory. */
static size_t pair_of(struct run *run, const struct view_event *event)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	u64 waiter = side_key(run, event->record->pid, event->record->tid);
	u64 waker = side_key(run, wait->waker_pid, wait->waker_tid);
	/* Names are few: their numbers are no larger than those of threads, which the upper half does not need. */
	u64 key = waiter ^ (u64)event->record->name << 40;
	u64 *place = waiter && waker ? map_find(&run->places, key, waker) : NULL;

	if (place)
		return *place;
	if (!waiter || !waker || array_reserve(&run->pairs, &run->capacity, run->count + 1) ||
	    map_set(&run->places, key, waker, run->count))
		return SIZE_MAX;
	run->pairs[run->count] =
		(struct pair){.wait = event->name,
			      .waiter.first = thread_key(event->record->pid, event->record->tid),
			      .waker.first = thread_key(wait->waker_pid, wait->waker_tid),
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
	const struct record_off_cpu *wait = (const void *)event->record;

	if (run->active_count > run->active_most) {
		forget_ended(run, event->ts);
		run->active_most = 2 * run->active_count + 64;
	}
	if (array_reserve(&run->active, &run->active_capacity, run->active_count + 1))
		return -ENOMEM;
	run->active[run->active_count++] =
		(struct active){thread_key(wait->waker_pid, wait->waker_tid), event->end, pair};
	return 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct run *run = data;
	struct pair *pair;
	size_t place;

	if (event->kind->number != KIND_off_cpu || event->open ||
	    wait->woken_by != VALUE_woken_by_thread ||
	    wait->reason == VALUE_off_cpu_reason_preempted)
		return 0;
	place = pair_of(run, event);
	if (place == SIZE_MAX || note_active(run, event, place))
		return err_errno(err, -ENOMEM, "can't make the report of blockers");
	pair = &run->pairs[place];
	if (count_thread(run, &run->waiters, place, &pair->waiter,
			 thread_key(event->record->pid, event->record->tid)) ||
	    count_thread(run, &run->wakers, place, &pair->waker,
			 thread_key(wait->waker_pid, wait->waker_tid)))
		return err_errno(err, -ENOMEM, "can't make the report of blockers");
	wait_sum_add(&pair->sum, event->dur);
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
	if (left->waiter.first != right->waiter.first)
		return left->waiter.first < right->waiter.first ? -1 : 1;
	return (left->waker.first > right->waker.first) - (left->waker.first < right->waker.first);
}

/* Its name, and the number of one that is alone. */
static int fill_side(const struct run *run, const struct side *side, const char *stranger,
		     struct report_cell *number, struct report_cell *shown)
{
	_cleanup_text_ struct text text = {0};
	u32 pid = side->first >> 32, tid = (u32)side->first;

	thread_names_append(&text, wait_thread_name(run->view, pid, tid, stranger),
			    side->names_differ, side->count);
	if (side->count <= 1)
		report_cell_count(number, tid);
	return text.failed ? -ENOMEM : report_cell_text(shown, text_string(&text));
}

static int fill_row(const struct run *run, const struct pair *pair, double all,
		    struct report_row *row)
{
	struct report_cell *cells = row->cells;

	wait_sum_fill(&pair->sum, all, row);
	if (fill_side(run, &pair->waiter, NULL, &cells[COLUMN_TID], &cells[COLUMN_THREAD]) ||
	    fill_side(run, &pair->waker, pair->stranger, &cells[COLUMN_WAKER_TID],
		      &cells[COLUMN_WAKER]) ||
	    report_cell_text(&cells[COLUMN_WAIT], pair->wait))
		return -ENOMEM;
	return pair->ran < 0
		       ? 0
		       : report_cell_text(&cells[COLUMN_RAN], run->functions.strings[pair->ran]);
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

static void run_free(void *data)
{
	struct run *run = data;

	free(run->pairs);
	free(run->active);
	map_free(&run->places);
	map_free(&run->ran);
	map_free(&run->waiters);
	map_free(&run->wakers);
	map_free(&run->keys);
	string_table_free(&run->alike);
	string_table_free(&run->functions);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	return fill_table(data, table) ? err_errno(err, -ENOMEM, "can't make the report blocked_by")
				       : 0;
}

int report_blockers_begin(struct view *view, const struct report_request *request,
			  struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink sink = {.span = run_span, .point = run_point};
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	*run = (struct run){.view = view, .folds = request->alike};
	table->title = "Off-CPU until another thread woke it";
	table->empty = "No thread was woken by another one.";
	table->empty_cells =
		run->folds ? "Rows without a TID: threads that are alike. Without what the waker "
			     "ran: no sample of it fell into a wait."
			   : "Rows without what the waker ran: no sample of it fell into a wait.";
	table->columns = columns;
	table->column_count = COLUMNS;
	*ret_run = (struct report_run){
		.data = run, .part = {&sink, run}, .fill = run_fill, .free = run_free};
	return 0;
}
