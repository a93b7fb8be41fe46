/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrows from who woke a thread to the thread that waited: a slice of a nanosecond on the waker's row, one of the time from then on to
 * the end of the wait on the row of who waited, and a flow between them. Of wakers that have a row: what an interrupt or a stranger woke has none. */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_WAKES_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_WAKES_H

#include "base/map.h"
#include "exporters/chrome/chrome_rows.h"

/* Zero-initialise. */
struct chrome_wakes {
	struct map rows; /* (pid, tid) -> 1 + its row; 0: it has none */
	u64 count;	 /* numbers that were given */
};

struct chrome_wake {
	u64 ts;	      /* when it was woken, inside its wait */
	u64 number;   /* of the arrow, from 1 on */
	size_t waker; /* row */
};

/* False: the event is no wait that a thread with a row ended; or there is no memory. */
bool chrome_wakes_find(struct chrome_wakes *wakes, const struct chrome_rows *rows,
		       const struct view_event *event, struct chrome_wake *ret_wake);
void chrome_wakes_free(struct chrome_wakes *wakes);

#endif
