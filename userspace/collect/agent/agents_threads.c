/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads of targets are the agents': for who must not count them as the targets'. */
#include "collect/agent/agents_parts.h"

void agents_expect_threads(const struct agents *agents, const struct agent *agent)
{
	const struct agents_threads *threads = agents->config.threads;

	if (threads)
		threads->expect(threads->data, agent->target->pid);
}

/* As the target writes it: it can at most give away threads of its own. */
static void tell_starter(const struct agents_threads *threads, struct agent *agent)
{
	const struct agent_starter *starter = &agent->control->starter;
	u32 tid = agent_threads_host(&agent->threads, starter->tid);

	if (starter->tid && tid)
		threads->made(threads->data, tid, starter->from_ns + agent->clock_shift_ns,
			      starter->until_ns + agent->clock_shift_ns);
}

void agents_tell_threads(const struct agents *agents, struct agent *agent)
{
	const struct agents_threads *threads = agents->config.threads;
	u32 tid = agent->injection.own.tid;

	if (!threads)
		return;
	if (!tid && agent->control)
		tid = agent_threads_host(&agent->threads, agent->control->fixed.agent_tid);
	if (tid)
		threads->own(threads->data, agents_process(agent)->pid, tid);
	if (agent->launch)
		tell_starter(threads, agent);
}
