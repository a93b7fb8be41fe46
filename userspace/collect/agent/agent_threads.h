/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads of a process by the numbers that the process itself knows them by: the host's, unless it has a pid
 * namespace of its own. Any one thread at a time.
 */
#ifndef GPUPROBE_COLLECT_AGENT_AGENT_THREADS_H
#define GPUPROBE_COLLECT_AGENT_AGENT_THREADS_H

#include "process/target.h"
#include "base/map.h"

struct agent_threads {
	const struct target *target;
	struct map hosts;     /* tid as the target sees it -> the host's */
	u64 looked_ns;	      /* when /proc was read last */
};

void agent_threads_init(struct agent_threads *threads, const struct target *target);
void agent_threads_free(struct agent_threads *threads);
/* 0: not known. /proc is read for new ones, at most ten times a second. data: struct agent_threads. */
u32 agent_threads_host(void *data, u32 tid);
bool agent_threads_live(void *data, u32 tid);

#endif
