/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent is told where its process uses NVTX: found from outside, by reading, before it is put in, and once a second
 * for the libraries that are loaded later. It is told by adding to a list; what is unmapped stays on it.
 */
#include "collect/agent/agents_parts.h"

static bool is_listed(const struct agent_nvtx_sites *sites, u32 count, u64 address)
{
	for (u32 i = 0; i < count; i++)
		if (sites->addresses[i] == address)
			return true;
	return false;
}

/* The target may write there too: no number of it is believed. */
static void add(struct agent_nvtx_sites *sites, const struct nvtx_users *users)
{
	u32 count = __atomic_load_n(&sites->count, __ATOMIC_RELAXED);
	bool news = false;

	if (count > AGENT_NVTX_SITES)
		count = AGENT_NVTX_SITES;
	for (size_t i = 0; i < users->count; i++) {
		const struct nvtx_user *user = &users->items[i];
		bool listed = is_listed(sites, count, user->address);

		/* Another library may have come to the place of one that was unloaded. */
		news |= !listed || user->state < NVTX_USER_TOOL;
		if (!listed && count < AGENT_NVTX_SITES)
			sites->addresses[count++] = user->address;
	}
	sites->tool_named = users->tool_named;
	__atomic_store_n(&sites->count, count, __ATOMIC_RELEASE);
	if (news)
		__atomic_fetch_add(&sites->generation, 1, __ATOMIC_RELEASE);
}

void agents_nvtx_begin(const struct agents *agents, struct agent *agent)
{
	if (agents->config.nvtx)
		nvtx_watch_look(&agent->nvtx_watch, agent->target, &agent->report.nvtx_users, NULL);
}

void agents_nvtx_fill(const struct agents *agents, const struct agent *agent,
		      struct agent_control *control)
{
	struct agent_feature *feature = &control->features[AGENT_FEATURE_NVTX];

	if (!agents->config.nvtx)
		return;
	feature->wanted = 1;
	feature->state = AGENT_FEATURE_PENDING;
	add(&control->nvtx, &agent->report.nvtx_users);
}

void agents_nvtx_report(struct agent *agent)
{
	const struct agent_feature *feature = &agent->control->features[AGENT_FEATURE_NVTX];

	agent->report.nvtx = agent->control->nvtx_facts;
	if (__atomic_load_n(&feature->state, __ATOMIC_ACQUIRE) == AGENT_FEATURE_FAILED)
		agents_copy_string(agent->report.nvtx_why, sizeof(agent->report.nvtx_why),
				   feature->hint, AGENT_HINT_BYTES);
}

void agents_nvtx_look(const struct agents *agents, struct agent *agent,
		      const struct target *process)
{
	struct nvtx_users users;

	if (agents->config.nvtx && agent->control &&
	    !nvtx_watch_look(&agent->nvtx_watch, process, &users, NULL) && users.count)
		add(&agent->control->nvtx, &users);
}
