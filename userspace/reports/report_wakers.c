/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "wakers": what threads waited for, by who woke them. A row is a name of waits and a thread that ended them, or
 * interrupts. What was not waiting (preempted), or waited still, was woken by nobody and is left out.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/map.h"
#include "reports/report_waits.h"

enum column { COLUMN_WAIT = WAITS_COLUMNS, COLUMN_PID, COLUMN_TID, COLUMN_WAKER, COLUMNS };

static const struct report_column columns[COLUMNS] = {
	WAITS_COLUMN_ROWS,
	[COLUMN_WAIT] = {"Waited in", REPORT_NAME},
	[COLUMN_PID] = {"Waker PID", REPORT_NUMBER},
	[COLUMN_TID] = {"Waker TID", REPORT_NUMBER},
	[COLUMN_WAKER] = {"Woken by", REPORT_NAME},
};

struct waker {
	struct wait_sum sum;
	const char *wait, *name; /* of the view; of a waker of no target, or NULL */
	u32 pid, tid;
	u8 by; /* VALUE_woken_by_* */
};

struct run {
	const struct view *view;
	struct map places; /* (text and kind of waker, pid and tid) -> place in wakers */
	struct waker *wakers;
	size_t count, capacity;
};

static struct waker *waker_get(struct run *run, const struct view_event *event)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	u64 what = (u64)event->record->name << 8 | wait->woken_by;
	u64 who = (u64)wait->waker_pid << 32 | wait->waker_tid;
	u64 *place = map_find(&run->places, what, who);

	if (place)
		return &run->wakers[*place];
	if (array_reserve(&run->wakers, &run->capacity, run->count + 1) ||
	    map_set(&run->places, what, who, run->count))
		return NULL;
	run->wakers[run->count] = (struct waker){.wait = event->name,
						 .name = view_text(run->view, wait->waker),
						 .pid = wait->waker_pid,
						 .tid = wait->waker_tid,
						 .by = wait->woken_by};
	return &run->wakers[run->count++];
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct waker *waker;

	if (event->kind->number != KIND_off_cpu || event->open ||
	    wait->reason == VALUE_off_cpu_reason_preempted)
		return 0;
	waker = waker_get(data, event);
	if (!waker)
		return err_errno(err, -ENOMEM, "can't make the report wakers");
	wait_sum_add(&waker->sum, event->dur);
	return 0;
}

static int compare_wakers(const void *a, const void *b)
{
	const struct waker *left = a, *right = b;

	if (left->sum.total_ns != right->sum.total_ns)
		return left->sum.total_ns < right->sum.total_ns ? 1 : -1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

static const char *waker_name(const struct view *view, const struct waker *waker)
{
	if (waker->by == VALUE_woken_by_interrupt)
		return "an interrupt";
	if (waker->by == VALUE_woken_by_timer)
		return "its own timer";
	if (waker->by != VALUE_woken_by_thread)
		return "not known";
	return wait_thread_name(view, waker->pid, waker->tid, waker->name);
}

static int fill_row(const struct view *view, const struct waker *waker, double all,
		    struct report_row *row)
{
	wait_sum_fill(&waker->sum, all, row);
	if (waker->by == VALUE_woken_by_thread) {
		report_cell_count(&row->cells[COLUMN_PID], waker->pid);
		report_cell_count(&row->cells[COLUMN_TID], waker->tid);
	}
	return report_cell_text(&row->cells[COLUMN_WAIT], waker->wait) ||
			       report_cell_text(&row->cells[COLUMN_WAKER], waker_name(view, waker))
		       ? -ENOMEM
		       : 0;
}

static int fill_table(struct run *run, struct report_table *table)
{
	int result = 0;
	double all = 0;

	qsort(run->wakers, run->count, sizeof(*run->wakers), compare_wakers);
	for (size_t i = 0; i < run->count; i++)
		all += run->wakers[i].sum.total_ns;
	for (size_t i = 0; i < run->count && !result; i++) {
		struct report_row *row = report_table_add(table);

		result = row ? fill_row(run->view, &run->wakers[i], all, row) : -ENOMEM;
	}
	return result;
}

int report_wakers_make(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.span = run_span};
	struct run run = {.view = view};
	int result = view_run(view, &sink, &run, err);

	table->title =
		"Off-CPU by who woke the thread (without what was preempted or still waiting)";
	table->empty = "Nobody was woken.";
	table->columns = columns;
	table->column_count = COLUMNS;
	if (result == 0 && run.count && fill_table(&run, table) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	free(run.wakers);
	map_free(&run.places);
	return result;
}
