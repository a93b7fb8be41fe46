/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before the window: the agents are put in, and say whether they work. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "session/session_parts.h"

/* CUPTI takes 7 to 15 s to start in a process that never had it. */
#define AGENT_READY_NS (60 * NS_PER_SECOND)
/* Where CUPTI is there already an answer comes within some ms. */
#define AGENT_QUICK_NS	    (200 * NS_PER_MILLISECOND)
#define AGENT_QUICK_POLL_MS 1
#define AGENT_POLL_MS	    10

/* The signal stays there, and ends the recording later. */
static bool is_interrupted(const struct session *session, int timeout_ms)
{
	struct pollfd signal = {.fd = session->signal_fd, .events = POLLIN};

	return poll(&signal, 1, timeout_ms) > 0;
}

static bool given_up(void *data)
{
	return is_interrupted(data, 0);
}

static void takes_long(void *data, const struct target *target, const char *what, u64 left_ns)
{
	const struct session_config *config = ((struct session *)data)->config;

	if (config->on_slow_agent)
		config->on_slow_agent(config->callback_data, target, what, left_ns);
}

/* Has one failed that was to be put in? */
static bool has_agent_failed(const struct session *session)
{
	const char *const *refused = session->config->agents->refused;

	for (size_t i = 0; i < agents_count(session->result.agents); i++)
		if (agent_report_failed(agents_report(session->result.agents, i)) &&
		    !(refused && refused[i]))
			return true;
	return false;
}

int session_start_agents(struct session *session, struct err *err)
{
	const struct session_config *config = session->config;
	struct agents *agents = session->result.agents;
	bool interrupted = false;
	u64 deadline_ns, quick_ns;

	if (!config->agents)
		return 0;
	session->agents_waiting = (struct agents_waiting){session, given_up, takes_long};
	agents_set_python(agents, &session->pythons.codes);
	agents_start(agents, session->source, &session->own.told, &session->agents_waiting);
	quick_ns = clock_monotonic_ns() + AGENT_QUICK_NS;
	deadline_ns = clock_monotonic_ns() + AGENT_READY_NS;
	while (!interrupted && !agents_all_answered(agents) && clock_monotonic_ns() < deadline_ns) {
		agents_say_unanswered(agents, deadline_ns);
		interrupted = is_interrupted(session, clock_monotonic_ns() < quick_ns
							      ? AGENT_QUICK_POLL_MS
							      : AGENT_POLL_MS);
	}
	/* It may have come while they were put in. */
	interrupted = interrupted || is_interrupted(session, 0);
	agents_give_up(agents);
	session->result.agents_failed =
		config->agents_needed && !interrupted && has_agent_failed(session);
	if (config->on_agents)
		config->on_agents(config->callback_data, agents, session->result.agents_failed);
	return session->result.agents_failed ? err_set(err, -ECANCELED, "an agent failed") : 0;
}
