/* The GPU side of record and check: which targets use CUDA, what their agents are asked for, what they say. */
#ifndef GPUPROBE_RECORDING_GPU_H
#define GPUPROBE_RECORDING_GPU_H

#include "collect/agent/agents.h"
#include "recording/attachment.h"

/* For session_config. attachment must outlive it. */
void gpu_look(const struct options *options, const struct attachment *attachment,
	      struct agents_config *ret_agents);
/* What would be done in each target that uses CUDA, and why not. Looks at the targets' threads, touches nothing. */
struct text;
void gpu_append_plan(const struct options *options, const struct attachment *attachment,
		     struct text *text);
/* Why this agent gives no GPU times. */
void gpu_append_failure(const struct agent_report *report, struct text *text);
/* For people: which agents work, and why the others do not. */
void gpu_say_agents(const struct agents *agents);
/* What is left in the targets. NULL is allowed. */
void gpu_say_result(const struct agents *agents);

#endif
