/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Putting agents in takes some ms, or some s: the user is told then, and may give it up. */
#include <string.h>

#include "base/clock.h"
#include "collect/agent/agents_parts.h"

#define SAY_NS	   NS_PER_SECOND /* since it began, or since something was said */
#define SAY_OWN_NS (SAY_NS / 2)	 /* since it is this one's turn */

bool agents_given_up(const struct agents *agents)
{
	return agents->waiting && agents->waiting->given_up(agents->waiting->data);
}

/* Inside the window nobody waits for it. */
static void say(struct agents *agents, struct agent *agent, u64 since_ns, const char *what,
		u64 until_ns)
{
	const struct agents_waiting *waiting = agents->waiting;
	u64 now_ns = clock_monotonic_ns();

	if (!waiting || agents->window_start_ns || now_ns >= until_ns ||
	    now_ns - agents->said_ns < SAY_NS || now_ns - since_ns < SAY_OWN_NS ||
	    (agent->told && !strcmp(agent->told, what)))
		return;
	agent->told = what;
	agents->said_ns = now_ns;
	waiting->takes_long(waiting->data, agent->target, what, until_ns - now_ns);
}

bool agents_put_in_goes_on(void *data, const char *what, u64 until_ns)
{
	const struct agents_put_in *put_in = data;

	say(put_in->agents, put_in->agent, put_in->agent->started_ns, what,
	    put_in->until_ns ? put_in->until_ns : until_ns);
	return !agents_given_up(put_in->agents);
}

void agents_say_unanswered(struct agents *agents, u64 until_ns)
{
	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		if (!agent->answered && agent->put_in_ns)
			say(agents, agent, agent->put_in_ns, "CUPTI to start", until_ns);
	}
}
