/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The targets of a session, for whoever attaches to them, looks into one, or prices that. */
#include "session/session_parts.h"

struct source_targets session_source_targets(const struct session *session)
{
	const struct session_config *config = session->config;

	return (struct source_targets){config->plan, config->targets, config->target_count,
				       config->single_probes};
}

u32 session_returns(const struct session_config *config)
{
	u32 returns = plan_returns(config->plan);

	return returns ? returns | 1u << VALUE_returns_none : 0;
}

u64 session_cpu_time_ns(struct session *session, u64 ended_ns)
{
	u64 own_ns = own_threads_cpu_ns(&session->own), sum = ended_ns;

	for (size_t i = 0; i < session->config->target_count; i++)
		sum += target_cpu_time_ns(&session->config->targets[i]);
	sum += processes_cpu_time_ns(session->processes);
	return sum > own_ns ? sum - own_ns : 0;
}

int session_process_open(const struct session *session, u32 pid, struct session_process *process)
{
	const struct session_config *config = session->config;

	process->opened = (struct target){.pidfd = -1, .proc_fd = -1};
	process->target = target_find(config->targets, config->target_count, pid);
	if (process->target)
		return 0;
	process->target = &process->opened;
	return target_open(pid, false, &process->opened, NULL);
}
