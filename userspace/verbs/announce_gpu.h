/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of agents: which of them work, why the others do not, what is left of them in the targets. */
#ifndef GPUPROBE_VERBS_ANNOUNCE_GPU_H
#define GPUPROBE_VERBS_ANNOUNCE_GPU_H

#include "base/text.h"
#include "collect/agent/agents.h"
#include "options/options.h"
#include "recording/attachment.h"

/* Why this agent gives no GPU times. */
void announce_gpu_append_failure(const struct agent_report *report, struct text *text);
/* To put one in waits for what, for so long at most. */
void announce_gpu_waits(const struct target *target, const char *what, u64 left_ns);
/* When they have answered. */
void announce_gpu_agents(const struct agents *agents);
/* When they are out again. NULL is allowed. */
void announce_gpu_result(const struct agents *agents);
/* Behind the window, where nobody named what to record: that no process has CUDA, or only since the window opened, so that nothing is told of GPUs. agents may be NULL. */
void announce_gpu_none(const struct attachment *attachment, const struct options *options, const struct agents *agents);

#endif
