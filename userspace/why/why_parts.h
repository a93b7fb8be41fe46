/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share. */
#ifndef GPUPROBE_WHY_WHY_PARTS_H
#define GPUPROBE_WHY_WHY_PARTS_H

#include "base/spool.h"
#include "why/why.h"
#include "why/why_notes.h"

/* A time in which a GPU was idle and the launch that ended it had not begun: what its thread does then is why. */
struct why_gap {
	u64 since_ns, until_ns;
	u64 launched_ns, begin_ns; /* when the launch came back, and when the operation began: not before until_ns */
	u64 number; /* of the gap, of its GPU */
	u32 row;  /* the thread's */
	u32 path; /* view_path() of the launch */
	u32 stack; /* of the launch; 0: not known */
	u32 name; /* of the launch: number in whats */
};

/* Of all GPUs. */
struct why_gaps {
	struct spool *gpus; /* [gpu] struct why_gap in their order, none into another one */
	size_t capacity;
	struct spool_store store;
};

#define WHY_NAMES 64 /* a power of two */

/* Causes by what they are. */
struct why_tally {
	struct why *why;
	const struct why_slices *slices;
	struct why_notes *notes; /* NULL: nobody asks when it was */
	struct map pairs;  /* (row and waiter, the rest but what and sort) -> dense number */
	struct map places; /* (sort and GPU, pair and number of what) -> place in causes */
	u64 *last_gaps;	   /* [place] the gap that was last counted */
	size_t capacity;
	struct {
		const char *name; /* NULL: none */
		u32 number;
	} names[WHY_NAMES]; /* of events that came last, by their address: of few calls there are many */
};

/* ---- why_tally.c ---- */

/* Its threads, wait, held and is_long as a number; -ENOMEM. */
s64 why_tally_pair(struct why_tally *tally, const struct why_cause *cause);
/* Its cause, entered if new; valid until the next one is. NULL: no memory. */
struct why_cause *why_tally_cause(struct why_tally *tally, const struct why_cause *cause, u32 what);
/* Adds a time of gap number `gap` of the cause's GPU, each part to its group. -ENOMEM. */
int why_tally_add(struct why_tally *tally, const struct why_cause *cause, u32 what, u64 gap, u64 since_ns, u64 until_ns);
/* Number of a string in why->whats; -ENOMEM. */
s64 why_what(struct why *why, const char *what);
/* The same of a string that lives as long as the view, such as the name of a call. */
s64 why_tally_name(struct why_tally *tally, const char *name);

/* ---- the first run (why_gaps.c) ---- */

/* Enters GPUs, and what is not a thread's: gaps is what threads are to be asked for, the caller's, of an error too. */
int why_gaps_find(struct view *view, struct why_tally *tally, struct why_gaps *gaps, struct err *err);
void why_gaps_free(struct why_gaps *gaps, size_t gpu_count);

/* ---- the second run (why_threads.c) ---- */

/* What threads did in the gaps. */
int why_threads_ask(struct view *view, struct why_tally *tally, const struct why_gaps *gaps, struct err *err);

#endif
