/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long programs run that are no plain record of a call, for the estimate of what recording costs: one run in
 * PRICE_RUNS_A_TIME is timed, of targets only. What the kernel takes to call a program is not in it.
 */
#ifndef GPUPROBE_BPF_PRICE_H
#define GPUPROBE_BPF_PRICE_H

#include "emit.h"

/* Prime: programs that follow each other in a pattern are all timed. */
#define PRICE_RUNS_A_TIME 17
/* No run takes that long: the processor did something else meanwhile (an interrupt, the host of a virtual machine). */
#define PRICE_RUN_MAX_NS 50000

/* One more of what is recorded, where no probe is hit for it. */
static __always_inline void price_count(u32 sort)
{
	struct counters *mine = counters_get();

	if (mine && sort < PRICE_SORTS)
		mine->prices[sort].entries++;
}

/* All, until one was timed: of few there shall be a price too. */
static __always_inline bool is_timed(const struct counters *mine, u32 sort, u64 run)
{
	return run % PRICE_RUNS_A_TIME == 0 || !mine->prices[sort].timed_runs;
}

/* A run begins. The time, or 0: it is not timed. */
static __always_inline u64 price_begin(u32 sort)
{
	struct counters *mine = counters_get();

	if (!mine || sort >= PRICE_SORTS || !is_timed(mine, sort, mine->prices[sort].runs++))
		return 0;
	return bpf_ktime_get_ns();
}

/* The same of a program that first has to find out whether this is a target's: all its runs go on with price_end_of(), or were
 * none. */
static __always_inline u64 price_begin_any(u32 sort)
{
	struct counters *mine = counters_get();

	if (!mine || sort >= PRICE_SORTS || !is_timed(mine, sort, mine->runs_of_any++))
		return 0;
	return bpf_ktime_get_ns();
}

/* begin_ns: what price_begin() said. */
static __always_inline void price_end(u32 sort, u64 begin_ns)
{
	struct counters *mine;
	u64 spent_ns;

	if (!begin_ns)
		return;
	spent_ns = bpf_ktime_get_ns() - begin_ns;
	mine = counters_get();
	if (!mine || sort >= PRICE_SORTS || spent_ns > PRICE_RUN_MAX_NS)
		return;
	mine->prices[sort].timed_runs++;
	mine->prices[sort].timed_ns += spent_ns;
}

/* begin_ns: what price_begin_any() said, in a target. */
static __always_inline void price_end_of(u32 sort, u64 begin_ns)
{
	struct counters *mine = counters_get();

	if (mine && sort < PRICE_SORTS)
		mine->prices[sort].runs++;
	price_end(sort, begin_ns);
}

#endif
