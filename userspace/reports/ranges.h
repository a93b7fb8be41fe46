/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranges that threads pushed and popped (NVTX, gpuprobe.h, pairs of USDT probes), each with the tightest range around it; and
 * for a call all those that it was made in. Filled from the events of a run, in their order; what is kept is 40 bytes a range.
 * Ranges of one thread may cross, since each domain of NVTX has a stack of its own.
 */
#ifndef GPUPROBE_REPORTS_RANGES_H
#define GPUPROBE_REPORTS_RANGES_H

#include "base/map.h"
#include "view/view.h"

#define RANGES_NONE UINT32_MAX

struct range {
	u64 ts, end;  /* of an open one: up to the end of the window */
	u32 name;     /* its place in the names: "domain:text" */
	u32 row;      /* of its thread, in the survey */
	u32 number;   /* among all ranges and marks by time, from 1: the id that nsys gives it; of imported ones what it gave */
	u32 parent;   /* place of the tightest one around it, RANGES_NONE: none */
	u32 previous; /* how many of its thread there are up to one before it behind which none ends later */
	u32 level : 31; /* how many are around it, by their parents */
	u32 open : 1;
};

/* Zero-initialise. */
struct ranges {
	const struct view *view;
	const struct view_key *range_name, *usdt_span_name;
	struct range *items; /* by the time when they began */
	size_t count, capacity;
	struct string_table names;
	struct range_thread *threads; /* by row */
	size_t thread_count, thread_capacity;
	u64 event_count;
	u32 *found; /* of the last call that was looked up */
	size_t found_capacity;
};

/* When a run begins. */
int ranges_open(struct ranges *ranges, const struct view *view, struct err *err);
/* Of every span and point of it; what is no range is passed by. 0 or -ENOMEM. */
int ranges_add(struct ranges *ranges, const struct view_event *event);
/* Places of the ranges of the thread of row that began at ts or before and ended at end or later, the latest first; valid
 * until the next call. All that began up to ts have been added. How many they are, or -ENOMEM. */
s64 ranges_around(struct ranges *ranges, u32 row, u64 ts, u64 end, const u32 **ret_places);
const char *ranges_name(const struct ranges *ranges, const struct range *range);
void ranges_free(struct ranges *ranges);

#endif
