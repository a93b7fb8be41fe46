/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the price of a recording is said: a share of the CPU time of who was recorded, but where that was next to none. Of a program
 * that sleeps each record takes a large share of little, and disturbs nobody.
 */
#ifndef GPUPROBE_BASE_PRICE_H
#define GPUPROBE_BASE_PRICE_H

#include "base/text.h"
#include "base/types.h"

/* From this share on it is asked how much it is of one CPU, */
#define PRICE_LEAST_PERCENT 10
/* and below this of one CPU the share says nothing. */
#define PRICE_LEAST_OF_ONE_CPU_PERCENT 2

/* Is the price, percent of the CPU time of who was recorded, one of little? of_one_cpu_percent 0: not known. */
static inline bool price_is_of_little(double percent, double of_one_cpu_percent)
{
	return percent >= PRICE_LEAST_PERCENT && of_one_cpu_percent > 0 &&
	       of_one_cpu_percent < PRICE_LEAST_OF_ONE_CPU_PERCENT;
}

/* 0: not known. */
static inline double price_of_one_cpu_percent(double cost_ns, double window_ns)
{
	return window_ns > 0 ? 100.0 * cost_ns / window_ns : 0;
}

/* "0.3 % of one CPU (2.8 ms)". */
static inline void price_append_of_one_cpu(struct text *text, double cost_ns, double window_ns)
{
	text_appendf(text, "%.2f %% of one CPU (%.1f ms)",
		     price_of_one_cpu_percent(cost_ns, window_ns), cost_ns / 1e6);
}

#endif
