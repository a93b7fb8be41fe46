/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/agent/agents_cost.h"

#include <unistd.h>

#include "base/clock.h"
#include "collect/agent/agents_parts.h"

#define SHED_POLL_US 2000
/* No record takes that long: a target can write what it likes. */
#define PRICE_MAX_NS 1000000

static bool has_control(const struct agent *agent)
{
	return agent->control &&
	       (agent->report.outcome == AGENT_WORKS || agent->report.outcome == AGENT_AWAITED);
}

/* 0: it was not measured, or is none. */
static u32 price_of(const u32 *price_ns)
{
	u32 value = __atomic_load_n(price_ns, __ATOMIC_RELAXED);

	return value > PRICE_MAX_NS ? 0 : value;
}

/* Not more than one a nanosecond: the same. */
static u64 count_of(const struct agent *agent, enum agent_counter counter)
{
	u64 count = agents_counter(agent, counter);

	return count > clock_monotonic_ns() - agent->started_ns ? 0 : count;
}

static void add_calls(u64 *cost_ns, u64 *highest_ns, u64 calls, u32 price_ns)
{
	if (price_ns > *highest_ns)
		*highest_ns = price_ns;
	if (calls && !price_ns)
		*cost_ns = AGENTS_NOT_PRICED;
	else if (*cost_ns != AGENTS_NOT_PRICED)
		*cost_ns += calls * price_ns;
}

void agents_cost(const struct agents *agents, struct agents_cost *ret_cost)
{
	struct agents_cost cost = {0};

	for (size_t i = 0; agents && i < agents->count; i++) {
		const struct agent *agent = &agents->agents[i];
		const struct agent_cupti_facts *facts;
		u64 driver, runtime;

		if (!has_control(agent))
			continue;
		facts = &agent->control->cupti_facts;
		driver = count_of(agent, AGENT_COUNT_DRIVER_CALLS);
		runtime = count_of(agent, AGENT_COUNT_RUNTIME_CALLS);
		cost.driver_calls += driver;
		cost.runtime_calls += runtime;
		cost.operations += count_of(agent, AGENT_COUNT_OPERATIONS);
		cost.converted += count_of(agent, AGENT_COUNT_CONVERTED);
		cost.converting_ns += count_of(agent, AGENT_COUNT_CONVERTING_NS);
		cost.stacks += count_of(agent, AGENT_COUNT_STACKS);
		cost.stacks_ns += count_of(agent, AGENT_COUNT_STACKS_NS);
		add_calls(&cost.driver_ns, &cost.driver_call_ns, driver,
			  price_of(&facts->driver_call_ns));
		add_calls(&cost.runtime_ns, &cost.runtime_call_ns, runtime,
			  price_of(&facts->runtime_call_ns));
	}
	*ret_cost = cost;
}

void agents_ask_for_records(struct agents *agents)
{
	for (size_t i = 0; i < agents->count; i++)
		if (has_control(&agents->agents[i]))
			__atomic_fetch_add(&agents->agents[i].control->flush_wanted, 1,
					   __ATOMIC_RELEASE);
}

/* false: it is still to do it. A ring that nobody has taken is not waited for. */
static bool has_shed(const struct agent *agent, u32 what, u64 *latest_ns)
{
	u64 shed_ns;

	if (!has_control(agent) || agents_state(agent) != AGENT_STATE_READY)
		return true;
	if (__atomic_load_n(&agent->control->shed_done, __ATOMIC_ACQUIRE) < what)
		return false;
	shed_ns = agent->control->shed_ns + agent->clock_shift_ns;
	if (shed_ns > *latest_ns && shed_ns <= clock_monotonic_ns())
		*latest_ns = shed_ns;
	return true;
}

static bool all_have_shed(const struct agents *agents, u32 what, u64 *latest_ns)
{
	for (size_t i = 0; i < agents->count; i++)
		if (!has_shed(&agents->agents[i], what, latest_ns))
			return false;
	return true;
}

u64 agents_shed(struct agents *agents, u32 what, u32 timeout_ms)
{
	u64 begin_ns = clock_monotonic_ns(), latest_ns = begin_ns;

	agents->shed = what;
	for (size_t i = 0; i < agents->count; i++)
		if (agents->agents[i].control)
			__atomic_store_n(&agents->agents[i].control->shed_wanted, what,
					 __ATOMIC_RELEASE);
	while (!all_have_shed(agents, what, &latest_ns)) {
		if (clock_monotonic_ns() - begin_ns > timeout_ms * NS_PER_MILLISECOND)
			return clock_monotonic_ns();
		usleep(SHED_POLL_US);
	}
	return latest_ns;
}
