/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks, in nanoseconds. */
#ifndef GPUPROBE_BASE_CLOCK_H
#define GPUPROBE_BASE_CLOCK_H

#include <time.h>

#include "base/types.h"

static inline u64 clock_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

/* The clock of all records. */
static inline u64 clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

#endif
