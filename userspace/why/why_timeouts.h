/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits that ended with their time (epoll_wait, poll, a futex with a time-out). Who only looks then, and waits for the same thing again until somebody else ends that, as event loops and queue.get(timeout)
 * do, has waited for that thing all along; where nobody did it is the program's own clock that was waited for. For each such wait the first run tells when the
 * next one for the same thing began that ended otherwise; they are asked for in the order in which they came.
 * Those that follow each other at once at one place (gloo's loop looks up each 10 ms) are one wait, which is ended by who ends the last of them. Who is woken in the middle of it, and waits on
 * at once until its time is over (a batcher with a deadline), was not ended by that one.
 */
#ifndef GPUPROBE_WHY_WHY_TIMEOUTS_H
#define GPUPROBE_WHY_WHY_TIMEOUTS_H

#include "base/spool.h"
#include "view/view.h"

/* Who waits again within so much time of its own, at the same place, has only looked. */
#define WHY_TIMEOUTS_AT_ONCE_NS 200000

/* What waits that ended with their time led to: one for the same thing that somebody ended. */
struct why_timeouts_end {
	u64 other_ns; /* when that one began; ~0: there was none */
	u64 since_ns; /* from here on they follow each other at once, up to that one; ~0: they do not */
	u64 again_ns; /* when the next one began, at once, that ended with its time; ~0: none did */
	u64 woken_ns; /* when that one ended, and by whom */
	u32 waker_pid, waker_tid, waker;
	u8 woken_by;
};

/* Of one wait: that of its own, and those that followed where the thread waited on at once. */
struct why_timeouts_ends {
	const struct why_timeouts_end *ends;
	size_t count; /* 0: it did not end with its time, nor behind such ones */
};

/* Zero-initialise it but for store. */
struct why_timeouts {
	struct why_timeouts_row {
		u32 name, waited, stack; /* for what the thread waited last so that it ended with its time */
		bool is_open; /* it does still */
		bool is_over; /* somebody ended that: `over` is how, and not stored yet */
		u64 since_ns, ended_ns; /* at once since; when the last one ended, and what it had no CPU for behind it */
		u32 at_stack; /* where that was */
		struct why_timeouts_end over;
		struct spool stored; /* all ends */
		struct spool_reader reader;
		struct why_timeouts_end *ends; /* that were read: of the waits now, and those behind it */
		size_t count, capacity;
	} *rows;
	size_t count;
	struct spool_store store;
};

/* 0 or -ENOMEM. */
int why_timeouts_init(struct why_timeouts *timeouts, size_t row_count);
/* Each wait (off_cpu), and behind them. 0 or -errno. */
int why_timeouts_add(struct why_timeouts *timeouts, const struct view_event *event, struct err *err);
int why_timeouts_finish(struct why_timeouts *timeouts, struct err *err);
/* Behind that each wait once more; ret_ends hold until the next call for that thread. 0 or -errno. */
int why_timeouts_next(struct why_timeouts *timeouts, const struct view_event *event, struct why_timeouts_ends *ret_ends, struct err *err);
/* The last of these ends, of a wait that began at ts, that can have led to what was at effect_ns; ret_is_one: the wait is one with those up to it. */
const struct why_timeouts_end *why_timeouts_last(const struct why_timeouts_ends *ends, u64 ts, u64 effect_ns, bool *ret_is_one);
void why_timeouts_free(struct why_timeouts *timeouts);

#endif
