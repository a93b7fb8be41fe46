/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clocks that strike while threads run (perf_event_open(2), cpu-clock): of a CPU, whatever runs there, or of a thread and those that
 * it makes. Nothing of them blocks, and closing one ends it.
 */
#ifndef GPUPROBE_PROBE_CPU_CLOCK_H
#define GPUPROBE_PROBE_CPU_CLOCK_H

#include "base/err.h"
#include "base/types.h"

/* Up to so many CPUs each has a clock; where there are more, each thread of a target has one, as far as descriptors allow: most CPUs have nothing to do
 * with it. */
#define CPU_CLOCK_CPUS_MAX 32

/* The CPUs that may be interrupted: those that are online, but for what the administrator keeps free of ticks (nohz_full=). */
struct cpu_clock_cpus {
	u32 *numbers;
	size_t count;
	bool many; /* threads are to have the clocks */
};

/* To be freed by the caller. 0 or -errno. */
int cpu_clock_cpus_read(struct cpu_clock_cpus *ret_cpus, struct err *err);
void cpu_clock_cpus_free(struct cpu_clock_cpus *cpus);

struct cpu_clock {
	u64 period_ns;
	int cpu;       /* -1: that of a thread, wherever it runs: */
	u32 tid;       /* 0: the calling one */
	bool children; /* and the processes that it makes, beside the threads */
};

/* It is not running yet. A descriptor, or -errno with err set. */
int cpu_clock_open(const struct cpu_clock *clock, struct err *err);
/* 0 or -errno. */
int cpu_clock_start(int fd);
/* How many strikes are missing of threads that ran so long and were found so often, where that is more than chance and a tenth explain; else 0. The
 * clock of a CPU that strikes some us late finds who runs then: of threads that run for so short at a time it may miss many. */
u64 cpu_clock_missed(u64 ran_ns, u64 period_ns, u64 taken);

#endif
