/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an agent finds in its memory when it begins. */
#include <unistd.h>

#include "collect/agent/agents_parts.h"
#include "collect/agent/cupti_sharers.h"
#include "plan/memory_room.h"
#include "process/proc_file.h"
#include "base/cleanup.h"

#define STAT_THREADS 20 /* field of /proc/PID/stat */

static u32 threads_of(const struct target *target)
{
	_cleanup_free_ char *stat = NULL;

	if (proc_file_read(target->proc_fd, "stat", &stat, NULL))
		return 0;
	return proc_stat_field(stat, STAT_THREADS);
}

void agents_fill_control(const struct agents *agents, const struct agent *agent,
			 struct agent_control *control)
{
	const struct cupti_supply *supply = &agent->report.supply;

	*control = (struct agent_control){
		.fixed = {.magic = AGENT_MAGIC,
			  .fixed_bytes = sizeof(control->fixed),
			  .total_bytes = agents_ring_bytes(agents),
			  .schema_hash = schema_hash(),
			  .tool_pid = getpid()},
		.features[AGENT_FEATURE_CUPTI] = {.wanted = 1, .state = AGENT_FEATURE_PENDING},
		.cupti = agents->config.cupti,
		.window_start_ns = agents->window_start_ns
					   ? agents->window_start_ns - agent->clock_shift_ns
					   : 0,
		.chunk_count = agents->chunk_count,
		.shed_wanted = agents->shed,
	};
	/* As many as there is room for, be that for none: one that is launched can't be refused. */
	memory_room_buffers(agent->target, control->cupti.buffer_bytes,
			    &control->cupti.buffer_count_max, NULL);
	control->cupti.buffer_count_ready = threads_of(agent->target);
	if (supply->place != CUPTI_PLACE_MAPPED)
		agents_copy_string(control->cupti.path, sizeof(control->cupti.path), supply->path,
				   sizeof(supply->path));
	control->cupti.handover = supply->by_memfd;
	control->cupti.shared_by_others = cupti_sharers_are_mapped(agent->target);
	control->features[AGENT_FEATURE_STACKS].wanted =
		agents->config.stacks && !agents->stacks_why;
	agents_nvtx_fill(agents, agent, control);
}
