/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits that ended with their time (epoll_wait, poll, a futex with a time-out). Who only looks then, and waits for the same thing again until somebody else ends that, as event loops and queue.get(timeout)
 * do, has waited for that thing all along; where nobody did it is the program's own clock that was waited for. For each such wait the first run tells when the
 * next one for the same thing began that ended otherwise; they are asked for in the order in which they came.
 * Those that follow each other at once at one place (gloo's loop looks up each 10 ms) are one wait, which is ended by who ends the last of them.
 */
#ifndef GPUPROBE_WHY_WHY_TIMEOUTS_H
#define GPUPROBE_WHY_WHY_TIMEOUTS_H

#include "base/spool.h"
#include "view/view.h"

/* Who waits again within so much time of its own, at the same place, has only looked. */
#define WHY_TIMEOUTS_AT_ONCE_NS 200000

/* What a wait that ended with its time led to. */
struct why_timeouts_end {
	u64 other_ns; /* see why_timeouts_next() */
	u64 since_ns; /* from here on they follow each other at once, up to that one; ~0: they do not */
	u64 woken_ns; /* when that one ended, and by whom */
	u32 waker_pid, waker_tid, waker;
	u8 woken_by;
};

/* Zero-initialise it but for store. */
struct why_timeouts {
	struct why_timeouts_row {
		u32 name, waited, stack; /* for what the thread waited last so that it ended with its time */
		bool is_open; /* it does still */
		u64 since_ns, ended_ns; /* at once since; when the last one ended, and what it had no CPU for behind it */
		u32 at_stack; /* where that was */
		struct why_timeouts_end end; /* of these */
		struct spool ends; /* of all of them */
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
/* Behind that each wait once more; other_ns is, of one that ended with its time, when the thread began to wait for the same thing and was woken by something else, ~0: it did not; 0: of
 * another wait. 0 or -errno. */
int why_timeouts_next(struct why_timeouts *timeouts, const struct view_event *event, struct why_timeouts_end *ret_end, struct err *err);
/* Is this wait one with those that follow it? */
bool why_timeouts_goes_on(const struct why_timeouts_end *end, const struct view_event *event);
void why_timeouts_free(struct why_timeouts *timeouts);

#endif
