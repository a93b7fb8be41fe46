/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why GPUs were idle. A GPU is idle while no kernel, copy or set runs on it, of whatever stream, context or process, in the time in which its work
 * was recorded. Each gap is put down to the operation that ends it: to what the thread did that launched it until it launched, to that call, and to
 * what was left until the operation began. While that thread waits for a thread that woke it in the end, or that had the lock where nobody did, it is
 * what that one did, and so on. The causes of a GPU add up to its idle time to the nanosecond, with those for which why_is_idle() is false to that and
 * what is not known of it; what can't be told is a cause of its own.
 * One run over the view, in which others can take part. What threads did in gaps that a launch ended is told behind it: until then these gaps, calls,
 * waits and samples are kept in temporary files.
 */
#ifndef GPUPROBE_WHY_WHY_H
#define GPUPROBE_WHY_WHY_H

#include "base/map.h"
#include "view/view.h"
#include "why/why_callers.h"

enum why_sort {
#define SORT(name, words, seen) WHY_##name,
#include "why/why_sorts.def"
	WHY_SORTS
};

/* For what the thread waited that launched next, itself or for another one. */
enum why_wait {
#define WAIT(name, words) WHY_WAIT_##name,
#include "why/why_waits.def"
	WHY_WAITS
};

#define WHY_NO_ROW   SIZE_MAX
#define WHY_NOT_HELD UINT32_MAX
/* A gap is long in which that much passed before the launch. */
#define WHY_LONG_NS  250000ULL

/* Times that are told apart, such as those of slow steps: causes are there by groups, too. */
#define WHY_GROUPS 3 /* 0: of no slice */

struct why_slice {
	u64 since_ns, until_ns;
	u32 group; /* from 1 on */
};

struct why_slices {
	const struct why_slice *items; /* sorted, disjoint */
	size_t count;
};

/* The group in which since_ns is; lowers until_ns to where that ends. slices NULL: there are none. */
u32 why_slices_cut(const struct why_slices *slices, u64 since_ns, u64 *until_ns);

struct why_cause {
	u32 gpu; /* place in why.gpus */
	u32 group; /* 0 of those that are of all times */
	enum why_sort sort;
	const char *what; /* call, function, wait with its object and waker, operation; "": nothing is known of it. why's own */
	size_t row_index; /* the thread that did that; WHY_NO_ROW: not known */
	size_t waiter;	  /* the thread that waited for it, and launched what came next; WHY_NO_ROW: it launched that itself */
	enum why_wait wait;
	u32 held; /* number of the call in whats.strings in which that thread was when its gaps began, behind it " in " and the code that
		   * made it: before it came back nothing more could be launched. WHY_NOT_HELD: it was in none, or in one that launches */
	bool is_long; /* of gaps that are */
	u32 at; /* of all times: 1 + number in whats.strings of the code in which who waited, did so most; 0: that is not known */
	double at_share; /* how much of it, of such causes together */
	u64 ns;
	/* Of ns, what would not be without that call: its thread would have run ahead for as long as it had been in it as the gap began, and for no
	 * longer. Of each gap it is the beginning. */
	u64 held_ns;
	u64 held_until_ns; /* of a cause that a time is added to: up to when that is */
	u64 gaps; /* in how many it has a part; of WHY_CODE: in how many it was sampled */
};

struct why_gpu {
	u32 device; /* id of its first fact */
	u32 number; /* as its process numbers it */
	u64 recorded_ns, busy_ns, unseen_ns; /* idle is the rest; unseen: nothing is known of it, see view/gpu_edge.h */
	u64 group_busy_ns[WHY_GROUPS]; /* from 1 on */
};

struct why {
	struct why_cause *causes; /* of most time first; no two are alike in all of it up to is_long */
	size_t count, capacity;
	struct why_cause *grouped; /* their parts in groups from 1 on, each in one; behind causes */
	size_t grouped_count;
	struct why_gpu *gpus;
	size_t gpu_count, gpu_capacity;
	struct string_table whats;
	struct map hot_lines; /* of sampled code, see why_lines_find() */
	struct why_callers callers; /* of code, by its number in whats */
};

struct why_notes;

/* Without groups. Where notes is not NULL it is noted when each was. The caller ends it with why_free(), of an error too. */
int why_make(struct view *view, struct why_notes *notes, struct why *ret_why, struct err *err);

/* The same as a part of a run that is the caller's, and by slices, which are known only behind it. In the order of these functions. */
struct why_making;

/* slices_follow: there will be some, maybe. ret_why is the caller's, as above, and lives longer than this. */
int why_making_new(struct view *view, bool slices_follow, struct why_notes *notes, struct why *ret_why, struct why_making **ret_making,
		   struct err *err);
struct view_part why_making_part(struct why_making *making);
/* Behind that run. slices: NULL where there are none. */
int why_making_finish(struct why_making *making, const struct why_slices *slices, struct err *err);
void why_making_free(struct why_making *making);
/* Joins those that differ in group, wait, held and is_long alone, which then are those of any of them. */
void why_merge(struct why *why);
void why_free(struct why *why);
/* Is anything known of why that was? */
bool why_is_known(enum why_sort sort);
/* Is it known that it was? */
bool why_is_idle(enum why_sort sort);
/* "in a CUDA call", "seen" */
const char *why_words(enum why_sort sort);
const char *why_seen(enum why_sort sort);

#endif
