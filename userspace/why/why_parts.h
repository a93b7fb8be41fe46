/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share. */
#ifndef GPUPROBE_WHY_WHY_PARTS_H
#define GPUPROBE_WHY_WHY_PARTS_H

#include "base/spool.h"
#include "view/view_kept.h"
#include "why/why.h"
#include "why/why_notes.h"
#include "why/why_timeouts.h"

/* A time in which a GPU was idle and the launch that ended it had not begun: what its thread does then is why. */
struct why_gap {
	u64 since_ns, until_ns;
	u64 launched_ns, begin_ns; /* when the launch came back, and when the operation began: not before until_ns */
	u64 number; /* of the gap, of its GPU */
	u32 row;  /* the thread's */
	u32 path; /* view_path() of the launch */
	u32 stack; /* of the launch; 0: not known */
	u32 waiter_stack; /* where the one thread waits that waits for the launching one; 0: not known */
	u32 name; /* of the launch: number in whats */
	bool is_first; /* before the first work: it is the thread's from where anything is recorded of that */
	bool is_last; /* behind the last work: it is the thread's as far as anything is recorded of that */
};

/* Of all GPUs. */
struct why_gaps {
	struct spool *gpus; /* [gpu] struct why_gap in their order, none into another one */
	size_t capacity;
	struct why_gap *firsts; /* [gpu] one before these, which is known behind all; until_ns 0: none */
	size_t first_capacity;
	struct spool_store store;
};

#define WHY_NAMES 64 /* a power of two */
#define WHY_ALL	  WHY_GROUPS /* the group of a cause that is of all times, until all is told */

/* Times that were told of before slices are known. Zero-initialise it but for the store. */
struct why_earlier {
	struct spool spool;
	struct spool_store store;
};

#define WHY_RECENT 64 /* a power of two */

/* What a cause is told by, and its place among those of its kind: mostly it is asked for again soon. */
struct why_recent {
	u64 threads, rest, what;
	u32 gpu, sort;
	size_t place_plus_1; /* 0: not known */
};

/* Causes by what they are. */
struct why_tally {
	struct why *why;
	const struct why_slices *slices; /* NULL: none, or none yet */
	struct why_earlier *earlier;	 /* NULL: no slices follow */
	struct why_notes *notes;	 /* NULL: nobody asks when it was */
	size_t slice;	   /* place of the one that a time was in last */
	struct map pairs;  /* (row and waiter, the rest but what and sort) -> dense number */
	struct map waits_at; /* (that number of all times, 1 + number of code) -> how long its waiter waited there; code 0: in all */
	struct map places; /* (sort and GPU, pair and number of what) -> place in causes */
	struct why_recent recent[WHY_RECENT]; /* of these */
	u64 *last_gaps;	   /* [place] the gap that was last counted */
	size_t capacity;
	struct {
		const char *name; /* NULL: none */
		u32 number;
	} names[WHY_NAMES]; /* of events that came last, by their address: of few calls there are many */
};

/* ---- why_tally.c ---- */

/* How much of a time of a cause is its held_ns. */
u64 why_tally_held(const struct why_cause *cause, u64 since_ns, u64 until_ns);
/* Its slot: either with the place that the caller put there for such a cause, or for the caller to put it there. */
struct why_recent *why_recent_of(struct why_recent recent[WHY_RECENT], const struct why_cause *cause, u64 what);
/* Its group, threads, wait, held and is_long as a number; -ENOMEM. */
s64 why_tally_pair(struct why_tally *tally, const struct why_cause *cause);
/* Its cause, entered if new; valid until the next one is. NULL: no memory. */
struct why_cause *why_tally_cause(struct why_tally *tally, const struct why_cause *cause, u32 what);
/* why_slices_cut() of its slices, for times that are mostly in the same or the next one. */
u32 why_tally_cut(struct why_tally *tally, u64 since_ns, u64 *until_ns);
/* Adds a time of gap number `gap` of the cause's GPU, and each part to its group. -ENOMEM. */
int why_tally_add(struct why_tally *tally, const struct why_cause *cause, u32 what, u64 gap, u64 since_ns, u64 until_ns);
/* Where in the code the waiter of such a cause waited for so long; at: 1 + number in whats, 0: not known. 0 or -ENOMEM. */
int why_tally_add_at(struct why_tally *tally, const struct why_cause *cause, u32 at, u64 ns);
/* Behind all: to each cause of all times where its waiter waited most. */
int why_tally_settle_at(struct why_tally *tally);
/* Only the latter. */
int why_tally_add_groups(struct why_tally *tally, const struct why_cause *cause, u32 what, u64 gap, u64 since_ns, u64 until_ns);
/* Number of a string in why->whats; -ENOMEM. */
s64 why_what(struct why *why, const char *what);
/* The same of a string that lives as long as the view, such as the name of a call. */
s64 why_tally_name(struct why_tally *tally, const char *name);

/* ---- why_groups.c ---- */

/* Of a time that why_tally_add() was given. 0 or -errno. */
int why_earlier_add(struct why_earlier *earlier, const struct why_cause *cause, u32 what, u64 gap, u64 since_ns, u64 until_ns, struct err *err);
/* All of them, to the groups of the tally's slices. */
int why_earlier_tell(const struct why_earlier *earlier, struct why_tally *tally, struct err *err);
void why_earlier_free(struct why_earlier *earlier);
/* Behind all: what is not idle in a group is busy. */
void why_groups_busy(const struct view *view, const struct why_slices *slices, struct why *why);

/* ---- the first run (why_gaps.c) ---- */

struct why_gaps_run;

extern const struct view_sink why_gaps_sink;

/* Enters GPUs, and what is not a thread's: gaps is what threads are to be asked for, the caller's, of an error too. NULL: no memory. */
struct why_gaps_run *why_gaps_run_new(struct why_tally *tally, struct why_gaps *gaps);
int why_gaps_run_finish(struct why_gaps_run *run, struct err *err);
/* Behind that: the time before the first work. */
int why_gaps_run_finish_edges(struct why_gaps_run *run, struct err *err);
void why_gaps_run_free(struct why_gaps_run *run);
void why_gaps_free(struct why_gaps *gaps, size_t gpu_count);

/* ---- behind the first run (why_threads.c) ---- */

/* Of which that has to be kept in the first run. */
extern const struct view_kept_kind why_threads_kinds[];

/* What threads did in the gaps. */
int why_threads_tell(struct view *view, struct view_kept *kept, struct why_timeouts *timeouts, struct why_tally *tally, const struct why_gaps *gaps, struct err *err);

#endif
