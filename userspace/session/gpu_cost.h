/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The GPU side of what a recording costs, as parts of the overhead, in this order. */
#ifndef GPUPROBE_SESSION_GPU_COST_H
#define GPUPROBE_SESSION_GPU_COST_H

#include "base/types.h"
#include "collect/agent/agents_cost.h"

enum gpu_cost {
	GPU_COST_NONE, /* of what is none of the GPU side */
	GPU_COST_DRIVER_CALLS,
	GPU_COST_RUNTIME_CALLS,
	GPU_COST_STACKS, /* of these calls, by the agent */
	/* What a kernel's record costs the thread that launches it nobody can measure without launching any. */
	GPU_COST_OPERATIONS,
	/* CPU time of the agent's thread and of CUPTI's: beside what the targets' threads do, and none of theirs. */
	GPU_COST_THREADS,
	GPU_COSTS
};

/* Calls of the APIs: they can be switched off alone, and go first. */
static inline bool gpu_cost_is_call(enum gpu_cost cost)
{
	return cost == GPU_COST_DRIVER_CALLS || cost == GPU_COST_RUNTIME_CALLS ||
	       cost == GPU_COST_STACKS;
}

struct gpu_cost_value {
	u64 entries; /* records; ~0: that is no number of it */
	u64 cost_ns; /* AGENTS_NOT_PRICED: its price was never measured here */
};

#endif
