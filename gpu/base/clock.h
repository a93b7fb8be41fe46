/* SPDX-License-Identifier: MIT */
/*
 * CUPTI's times and CLOCK_MONOTONIC. Where our timestamp callback is in force they are the same. Else a straight line
 * is fitted through moments at which both were read, and records are converted by it: one that goes as fast where CUPTI
 * reads CLOCK_REALTIME, which the kernel keeps at the same rate, so that lengths stay as they are. For one thread.
 */
#ifndef GPUPROBE_GPU_CLOCK_H
#define GPUPROBE_GPU_CLOCK_H

#include "types.h"

#define CLOCK_POINTS 32

struct clock_point {
	u64 cupti, monotonic_ns;
	u64 apart_ns; /* between the readings around it: it is off by half of that at most */
};

struct clock {
	bool fitted; /* false: times are CLOCK_MONOTONIC as they are */
	bool realtime; /* CUPTI reads CLOCK_REALTIME */
	bool unsure; /* the first time that comes decides, by which of both is nearer to now */
	u32 point_count;
	u32 next; /* points are a ring: the newest replace the oldest but the first */
	struct clock_point points[CLOCK_POINTS];
	double slope;	 /* ns of CLOCK_MONOTONIC for one of CUPTI's */
	double offset_ns; /* of the line at points[0] */
	u32 residual_ns; /* largest distance of a point from the line */
	bool in_use; /* times were converted: from then on CLOCK_REALTIME's distance stays the same until that is set */
};

/* Reads CUPTI's clock; false: it could not. */
typedef bool (*clock_reader)(void *data, u64 *ret_cupti);

enum clock_kind {
	CLOCK_UNREADABLE,
	CLOCK_IS_MONOTONIC,
	CLOCK_IS_REALTIME, /* CUPTI's own: nobody has registered a timestamp callback */
	CLOCK_IS_FOREIGN,
};

/* Which clock it is that CUPTI reads. */
enum clock_kind clock_examine(clock_reader read, void *data);
/* Reads both clocks (the tightest of some pairs) and fits again. Blocks some 10 us. */
void clock_take_point(struct clock *clock, clock_reader read, void *data);
/* A moment of a record: 0 stays 0. */
u64 clock_convert(struct clock *clock, u64 cupti);

#endif
