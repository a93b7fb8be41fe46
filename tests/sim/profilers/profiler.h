/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Users of CUPTI as they are found in the processes that gpuprobe records: one source, built under the names of the
 * libraries that they live in (sim.mk). What each does was read in its sources; how it treats a buffer that is not its own
 * is what matters.
 */
#ifndef SIM_PROFILER_H
#define SIM_PROFILER_H

#include <stdint.h>

struct sim_profile {
	int result; /* CUptiResult of what failed when it began, 0: it records */
	uint64_t kernels, others; /* records of its own profile */
	uint64_t foreign_buffers; /* that it was handed, and never gave */
	uint64_t foreign_freed;	  /* of these */
};

struct sim_profiler {
	/* The libcupti that it loads. 0, or what to say. */
	const char *(*open)(const char *cupti_path);
	void (*begin)(struct sim_profile *profile);
	/* Work on devices has ended. Its records are in the profile when this returns. */
	void (*end)(struct sim_profile *profile);
	/* After that, when the application goes on: gives CUPTI back as far as it does. */
	void (*leave)(void);
};

/* The one symbol of the library. */
extern const struct sim_profiler simProfiler;

#endif
