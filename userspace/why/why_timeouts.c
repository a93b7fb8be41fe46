/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_timeouts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "why/why_waits.h"

enum change { NOTHING, BEGINS, GOES_ON, IS_OVER };

int why_timeouts_init(struct why_timeouts *timeouts, size_t row_count)
{
	timeouts->rows = calloc(row_count + 1, sizeof(*timeouts->rows));
	timeouts->count = row_count;
	return timeouts->rows ? 0 : -ENOMEM;
}

/* A queue of Python has a lock, and so a futex, for each wait: there it is the place in the code. */
static bool is_same(const struct why_timeouts_row *row, const struct record_off_cpu *wait)
{
	return row->name == wait->header.name && row->waited == wait->waited &&
	       (wait->waited || row->stack == wait->header.stack);
}

/* is_timed: it ended with its time. */
static enum change change_of(struct why_timeouts_row *row, const struct record_off_cpu *wait,
			     bool is_timed)
{
	bool same = row->is_open && is_same(row, wait);

	if (wait->reason == VALUE_off_cpu_reason_preempted || (!is_timed && !same))
		return NOTHING;
	row->is_open = is_timed;
	if (same)
		return is_timed ? GOES_ON : IS_OVER;
	row->name = wait->header.name;
	row->waited = wait->waited;
	row->stack = wait->header.stack;
	return BEGINS;
}

static int put(struct why_timeouts *timeouts, struct why_timeouts_row *row,
	       const struct why_timeouts_end *end, struct err *err)
{
	u8 *room;
	int result = spool_reserve(&row->stored, &timeouts->store, sizeof(*end), &room, err);

	if (result == 0)
		memcpy(room, end, sizeof(*end));
	return result;
}

static const struct why_timeouts_end never = {
	.other_ns = ~0ULL, .since_ns = ~0ULL, .again_ns = ~0ULL};

static struct why_timeouts_end end_of(const struct view_event *event, u64 since_ns)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	u64 runnable_ns = wait->runnable_ns == ~0ULL ? 0 : wait->runnable_ns;

	return (struct why_timeouts_end){
		.other_ns = event->ts,
		.since_ns = since_ns,
		.again_ns = ~0ULL,
		.woken_ns = event->end - (runnable_ns < event->dur ? runnable_ns : event->dur),
		.waker_pid = wait->waker_pid,
		.waker_tid = wait->waker_tid,
		.waker = wait->waker,
		.woken_by = (u8)wait->woken_by,
	};
}

/* What is known now of the waits before. */
static int settle(struct why_timeouts *timeouts, struct why_timeouts_row *row, bool was_open,
		  struct err *err)
{
	const struct why_timeouts_end *end = row->is_over ? &row->over : was_open ? &never : NULL;

	row->is_over = false;
	return end ? put(timeouts, row, end, err) : 0;
}

/* Of a row that waited for the same thing: at the same place, right behind that? */
static bool is_at_once(const struct why_timeouts_row *row, const struct view_event *event)
{
	return row->at_stack == event->record->stack &&
	       event->ts <= row->ended_ns + WHY_TIMEOUTS_AT_ONCE_NS;
}

int why_timeouts_add(struct why_timeouts *timeouts, const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct why_timeouts_row *row = &timeouts->rows[event->row_index];
	bool was_open = row->is_open, was_over = row->is_over;
	bool at_once = is_at_once(row, event) && is_same(row, wait);
	enum change change = change_of(row, wait, why_waits_is_timed(event));

	if (wait->reason == VALUE_off_cpu_reason_preempted)
		row->ended_ns += event->dur;
	else if (change != NOTHING || (was_over && at_once))
		row->ended_ns = event->end;
	if (change == IS_OVER) {
		row->over = end_of(event, at_once ? row->since_ns : ~0ULL);
		row->is_over = true;
	}
	if (change == IS_OVER || change == NOTHING)
		return 0;
	if (change == BEGINS || !at_once)
		row->since_ns = event->ts;
	row->at_stack = wait->header.stack;
	if (change == GOES_ON)
		return 0;
	/* Who is not recorded came with something: a request, behind which a batch waits for more. */
	if (was_over && at_once && row->over.woken_by == VALUE_woken_by_thread && !row->over.waker)
		row->over.again_ns = event->ts;
	/* It waits for something else by now. */
	return settle(timeouts, row, was_open, err);
}

int why_timeouts_finish(struct why_timeouts *timeouts, struct err *err)
{
	for (size_t i = 0; i < timeouts->count; i++) {
		struct why_timeouts_row *row = &timeouts->rows[i];
		int result = settle(timeouts, row, row->is_open, err);

		if (result < 0)
			return result;
		row->is_open = false;
		row->reader.spool = &row->stored;
		row->reader.store = &timeouts->store;
	}
	return 0;
}

/* So many ends of one thread are looked at, at most, for how a wait ended. */
#define ENDS_MAX 16

/* The next end of a thread, and those that it waited on for behind it. */
static int read_ends(struct why_timeouts_row *row, struct err *err)
{
	if (row->count)
		memmove(row->ends, row->ends + 1, --row->count * sizeof(*row->ends));
	while (!row->count ||
	       (row->count < ENDS_MAX && row->ends[row->count - 1].again_ns != ~0ULL)) {
		const void *next;
		int result = spool_next(&row->reader, sizeof(*row->ends), &next, err);

		if (result <= 0)
			return result;
		if (array_reserve(&row->ends, &row->capacity, row->count + 1))
			return err_errno(err, -ENOMEM, "can't tell why GPUs are idle");
		memcpy(&row->ends[row->count++], next, sizeof(*row->ends));
	}
	return 0;
}

int why_timeouts_next(struct why_timeouts *timeouts, const struct view_event *event,
		      struct why_timeouts_ends *ret_ends, struct err *err)
{
	struct why_timeouts_row *row = &timeouts->rows[event->row_index];
	enum change change = change_of(row, (const void *)event->record, why_waits_is_timed(event));
	int result = change == BEGINS ? read_ends(row, err) : 0;

	if (result < 0)
		return result;
	*ret_ends = (struct why_timeouts_ends){0};
	if (change != NOTHING)
		*ret_ends = (struct why_timeouts_ends){row->ends, row->count};
	return 0;
}

const struct why_timeouts_end *why_timeouts_last(const struct why_timeouts_ends *ends, u64 ts,
						 u64 effect_ns, bool *ret_is_one)
{
	const struct why_timeouts_end *end = ends->ends, *behind = end + ends->count;

	for (; end + 1 < behind && end->since_ns <= ts && end->again_ns < effect_ns; end++)
		ts = end->again_ns;
	*ret_is_one = end->other_ns != ~0ULL && end->since_ns <= ts;
	return end;
}

void why_timeouts_free(struct why_timeouts *timeouts)
{
	for (size_t i = 0; timeouts->rows && i < timeouts->count; i++) {
		spool_reader_free(&timeouts->rows[i].reader);
		spool_free(&timeouts->rows[i].stored);
		free(timeouts->rows[i].ends);
	}
	free(timeouts->rows);
	spool_store_close(&timeouts->store);
}
