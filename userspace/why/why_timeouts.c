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

static int put(struct why_timeouts *timeouts, struct why_timeouts_row *row, u64 other_ns,
	       struct err *err)
{
	u8 *room;
	int result = spool_reserve(&row->others, &timeouts->store, sizeof(other_ns), &room, err);

	if (result == 0)
		memcpy(room, &other_ns, sizeof(other_ns));
	return result;
}

int why_timeouts_add(struct why_timeouts *timeouts, const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct why_timeouts_row *row = &timeouts->rows[event->row_index];
	bool was_open = row->is_open;
	enum change change = change_of(row, wait, why_waits_is_timed(event));

	if (change == IS_OVER)
		return put(timeouts, row, event->ts, err);
	/* It waits for something else by now. */
	return change == BEGINS && was_open ? put(timeouts, row, ~0ULL, err) : 0;
}

int why_timeouts_finish(struct why_timeouts *timeouts, struct err *err)
{
	for (size_t i = 0; i < timeouts->count; i++) {
		struct why_timeouts_row *row = &timeouts->rows[i];
		int result = row->is_open ? put(timeouts, row, ~0ULL, err) : 0;

		if (result < 0)
			return result;
		row->is_open = false;
		row->reader.spool = &row->others;
		row->reader.store = &timeouts->store;
	}
	return 0;
}

int why_timeouts_next(struct why_timeouts *timeouts, const struct view_event *event,
		      u64 *ret_other_ns, struct err *err)
{
	struct why_timeouts_row *row = &timeouts->rows[event->row_index];
	enum change change = change_of(row, (const void *)event->record, why_waits_is_timed(event));
	const void *next;
	int result =
		change == BEGINS ? spool_next(&row->reader, sizeof(row->other_ns), &next, err) : 0;

	if (result < 0)
		return result;
	if (result > 0)
		memcpy(&row->other_ns, next, sizeof(row->other_ns));
	*ret_other_ns = change == BEGINS || change == GOES_ON ? row->other_ns : 0;
	return 0;
}

void why_timeouts_free(struct why_timeouts *timeouts)
{
	for (size_t i = 0; timeouts->rows && i < timeouts->count; i++) {
		spool_reader_free(&timeouts->rows[i].reader);
		spool_free(&timeouts->rows[i].others);
	}
	free(timeouts->rows);
	spool_store_close(&timeouts->store);
}
