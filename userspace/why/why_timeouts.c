/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_timeouts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	int result = spool_reserve(&row->ends, &timeouts->store, sizeof(*end), &room, err);

	if (result == 0)
		memcpy(room, end, sizeof(*end));
	return result;
}

static const struct why_timeouts_end never = {.other_ns = ~0ULL, .since_ns = ~0ULL};

static struct why_timeouts_end end_of(const struct view_event *event, u64 since_ns)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	u64 runnable_ns = wait->runnable_ns == ~0ULL ? 0 : wait->runnable_ns;

	return (struct why_timeouts_end){
		.other_ns = event->ts,
		.since_ns = since_ns,
		.woken_ns = event->end - (runnable_ns < event->dur ? runnable_ns : event->dur),
		.waker_pid = wait->waker_pid,
		.waker_tid = wait->waker_tid,
		.waker = wait->waker,
		.woken_by = (u8)wait->woken_by,
	};
}

int why_timeouts_add(struct why_timeouts *timeouts, const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct why_timeouts_row *row = &timeouts->rows[event->row_index];
	bool was_open = row->is_open;
	bool at_once = row->at_stack == wait->header.stack &&
		       event->ts <= row->ended_ns + WHY_TIMEOUTS_AT_ONCE_NS;
	enum change change = change_of(row, wait, why_waits_is_timed(event));

	if (wait->reason == VALUE_off_cpu_reason_preempted && row->is_open)
		row->ended_ns += event->dur;
	if (change == IS_OVER) {
		const struct why_timeouts_end end = end_of(event, at_once ? row->since_ns : ~0ULL);

		return put(timeouts, row, &end, err);
	}
	if (change == NOTHING)
		return 0;
	if (change == BEGINS || !at_once)
		row->since_ns = event->ts;
	row->ended_ns = event->end;
	row->at_stack = wait->header.stack;
	/* It waits for something else by now. */
	return change == BEGINS && was_open ? put(timeouts, row, &never, err) : 0;
}

int why_timeouts_finish(struct why_timeouts *timeouts, struct err *err)
{
	for (size_t i = 0; i < timeouts->count; i++) {
		struct why_timeouts_row *row = &timeouts->rows[i];
		int result = row->is_open ? put(timeouts, row, &never, err) : 0;

		if (result < 0)
			return result;
		row->is_open = false;
		row->reader.spool = &row->ends;
		row->reader.store = &timeouts->store;
	}
	return 0;
}

int why_timeouts_next(struct why_timeouts *timeouts, const struct view_event *event,
		      struct why_timeouts_end *ret_end, struct err *err)
{
	struct why_timeouts_row *row = &timeouts->rows[event->row_index];
	enum change change = change_of(row, (const void *)event->record, why_waits_is_timed(event));
	const void *next;
	int result = change == BEGINS ? spool_next(&row->reader, sizeof(row->end), &next, err) : 0;

	if (result < 0)
		return result;
	if (result > 0)
		memcpy(&row->end, next, sizeof(row->end));
	*ret_end = change == BEGINS || change == GOES_ON ? row->end : (struct why_timeouts_end){0};
	return 0;
}

bool why_timeouts_goes_on(const struct why_timeouts_end *end, const struct view_event *event)
{
	return end->other_ns && end->other_ns != ~0ULL && event->ts >= end->since_ns;
}

void why_timeouts_free(struct why_timeouts *timeouts)
{
	for (size_t i = 0; timeouts->rows && i < timeouts->count; i++) {
		spool_reader_free(&timeouts->rows[i].reader);
		spool_free(&timeouts->rows[i].ends);
	}
	free(timeouts->rows);
	spool_store_close(&timeouts->store);
}
