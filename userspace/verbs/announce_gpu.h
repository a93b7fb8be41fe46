/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of agents: which of them work, why the others do not, what is left of them in the targets. */
#ifndef GPUPROBE_VERBS_ANNOUNCE_GPU_H
#define GPUPROBE_VERBS_ANNOUNCE_GPU_H

#include "base/text.h"
#include "collect/agent/agents.h"

/* Why this agent gives no GPU times. */
void announce_gpu_append_failure(const struct agent_report *report, struct text *text);
/* When they have answered. */
void announce_gpu_agents(const struct agents *agents);
/* When they are out again. NULL is allowed. */
void announce_gpu_result(const struct agents *agents);

#endif
