/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/chrome/chrome_wakes.h"

static size_t row_of(struct chrome_wakes *wakes, const struct chrome_rows *rows, u32 pid, u32 tid)
{
	u64 *known = map_find(&wakes->rows, pid, tid);
	size_t row;

	if (known)
		return (size_t)*known - 1;
	row = chrome_rows_thread(rows, pid, tid);
	(void)map_set(&wakes->rows, pid, tid, row + 1);
	return row;
}

bool chrome_wakes_find(struct chrome_wakes *wakes, const struct chrome_rows *rows,
		       const struct view_event *event, struct chrome_wake *ret_wake)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct chrome_wake wake = {0};
	u64 ready;

	if (event->kind->number != KIND_off_cpu || event->open || event->dur < 2 ||
	    wait->woken_by != VALUE_woken_by_thread || !wait->waker_tid)
		return false;
	ready = wait->runnable_ns;
	/* The moment must lie inside of the wait: what began with the wait, or ended it, is drawn a nanosecond inside. */
	if (ready == ~0ULL || ready < 1)
		ready = 1;
	if (ready >= event->dur)
		ready = event->dur - 1;
	wake.waker = row_of(wakes, rows, wait->waker_pid, wait->waker_tid);
	if (wake.waker == SIZE_MAX)
		return false;
	wake.ts = event->ts + event->dur - ready;
	wake.number = ++wakes->count;
	*ret_wake = wake;
	return true;
}

void chrome_wakes_free(struct chrome_wakes *wakes)
{
	map_free(&wakes->rows);
}
