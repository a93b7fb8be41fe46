/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits that ended with their time (epoll_wait, poll, a futex with a time-out). Who only looks then, and waits for the same thing again until somebody else ends that, as event loops and queue.get(timeout)
 * do, has waited for that thing all along; where nobody did it is the program's own clock that was waited for. For each such wait the first run tells when the
 * next one for the same thing began that ended otherwise; they are asked for in the order in which they came.
 */
#ifndef GPUPROBE_WHY_WHY_TIMEOUTS_H
#define GPUPROBE_WHY_WHY_TIMEOUTS_H

#include "base/spool.h"
#include "view/view.h"

/* Zero-initialise it but for store. */
struct why_timeouts {
	struct why_timeouts_row {
		u32 name, waited, stack; /* for what the thread waited last so that it ended with its time */
		bool is_open; /* it does still */
		u64 other_ns; /* of these: see why_timeouts_next() */
		struct spool others; /* of all of them */
		struct spool_reader reader;
	} *rows;
	size_t count;
	struct spool_store store;
};

/* 0 or -ENOMEM. */
int why_timeouts_init(struct why_timeouts *timeouts, size_t row_count);
/* Each wait (off_cpu), and behind them. 0 or -errno. */
int why_timeouts_add(struct why_timeouts *timeouts, const struct view_event *event, struct err *err);
int why_timeouts_finish(struct why_timeouts *timeouts, struct err *err);
/* Behind that each wait once more: of one that ended with its time when the thread began to wait for the same thing and was woken by something else, ~0: it did not; 0: of another
 * wait. 0 or -errno. */
int why_timeouts_next(struct why_timeouts *timeouts, const struct view_event *event, u64 *ret_other_ns, struct err *err);
void why_timeouts_free(struct why_timeouts *timeouts);

#endif
