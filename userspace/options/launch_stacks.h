/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --launch-stacks: off, first, all, auto, agent, or sampled=N/s. */
#ifndef GPUPROBE_OPTIONS_LAUNCH_STACKS_H
#define GPUPROBE_OPTIONS_LAUNCH_STACKS_H

#include "base/err.h"
#include "options/options.h"

struct launch_stacks {
	bool taken;
	bool asked;		/* by name, and not since a level has them */
	bool by_agent;		/* by the agent, of all, and not by probes */
	bool by_price;		/* of all, until these cost too much (session_launch_look()), */
	bool first;		/* or until these have had their share of the window */
	u32 samples_per_second; /* 0: all */
};

#define LAUNCH_STACKS_PER_SECOND_MAX 1000000

/* -EINVAL: it is none of these. */
int launch_stacks_of(const struct options *options, struct launch_stacks *ret_stacks, struct err *err);

#endif
