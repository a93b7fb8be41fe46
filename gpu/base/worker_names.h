/* SPDX-License-Identifier: MIT */
/*
 * Threads that CUPTI makes inside a call have the name of the thread that calls it. So that they are not taken for the agent,
 * the calling thread has the name that they are to have for as long as such calls last.
 */
#ifndef GPUPROBE_GPU_WORKER_NAMES_H
#define GPUPROBE_GPU_WORKER_NAMES_H

#include "types.h"

struct worker_names {
	char before[16]; /* of the calling thread */
};

void worker_names_begin(struct worker_names *names);
/* On the same thread. */
void worker_names_end(const struct worker_names *names);

#endif
