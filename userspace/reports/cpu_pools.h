/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads too short to be sampled well, of one process together: a server that makes a thread for each request has thousands, most without any
 * sample, and the few that have one would stand for themselves only. In a pool each sample stands for the same part of the time that all
 * its threads ran. Sums of processes stay what they are; of a single thread of a pool nothing is said. Zero-initialise.
 */
#ifndef GPUPROBE_REPORTS_CPU_POOLS_H
#define GPUPROBE_REPORTS_CPU_POOLS_H

#include "base/map.h"
#include "view/view.h"

#define CPU_POOL_SAMPLES 5 /* a thread for which fewer are expected is in the pool of its process */

struct cpu_pools {
	struct map threads; /* (pid, tid) -> how long it ran; it comes before its samples */
	struct map places;  /* pid -> place in pools */
	struct cpu_pool {
		u64 ns, count, given;
	} *pools;
	size_t pool_count, pool_capacity;
	struct cpu_pool_sample {
		size_t pool, stack;
	} *samples;
	size_t sample_count, sample_capacity;
	struct cpu_pool_thread {
		u32 pid;
		u64 ns;
	} *silent; /* without a sample */
	size_t silent_count, silent_capacity;
	u64 period_ns; /* 0: there was no sample */
};

/* A thread_time; unsampled_ns: what it ran without any sample, which is the pools' from here on. 0 or -ENOMEM. */
int cpu_pools_add_thread(struct cpu_pools *pools, const struct view_event *event, u64 unsampled_ns);
/* A sample. 1: it is one of a pool; 0: it is not; -ENOMEM. stack: what the caller knows its stack by. */
int cpu_pools_add_sample(struct cpu_pools *pools, const struct view_event *event, size_t stack);
/* Of each sample what it stands for, and with CPU_POOL_NO_STACK what no sample stands for. 0 or the callback's result. */
#define CPU_POOL_NO_STACK SIZE_MAX
int cpu_pools_share(struct cpu_pools *pools, int (*share)(void *data, size_t stack, u64 ns), void *data);
void cpu_pools_free(struct cpu_pools *pools);

#endif
