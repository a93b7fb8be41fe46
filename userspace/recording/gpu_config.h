/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the options mean to the agent: it sees none of them, only its control block. */
#ifndef GPUPROBE_RECORDING_GPU_CONFIG_H
#define GPUPROBE_RECORDING_GPU_CONFIG_H

#include "collect/agent/agents.h"
#include "options/options.h"
#include "recording/attachment.h"

/* May one be put in at all? Not with --no-inject, nor with device_tracer_level 0. */
bool gpu_config_wants_agent(const struct options *options);
/* Why not, in words. */
const char *gpu_config_no_agent_reason(const struct options *options);
/* All but the path of the library. */
void gpu_config_fill(const struct options *options, struct agent_cupti_config *ret_cupti);
/* Of the memory shared with an agent, what lies behind its control block. */
u64 gpu_config_shared_bytes(const struct options *options);
/* For session_config. attachment must outlive it. */
void gpu_config_agents(const struct options *options, const struct attachment *attachment,
		       struct agents_config *ret_agents);

#endif
