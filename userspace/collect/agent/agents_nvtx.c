/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent is told where its process uses NVTX: found from outside, by reading, before it is put in, and once a second
 * for the libraries that are loaded later. It is told by adding to a list; what is unmapped stays on it.
 */
#include "collect/agent/agents_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/thread.h"

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

/* Of 20 ms and more in a process of PyTorch: beside the loading of the BPF programs. */
static void *search(void *data)
{
	struct agents *agents = data;
	const struct agents_config *config = &agents->config;

	for (size_t i = 0; i < config->target_count; i++) {
		struct nvtx_search *search = &agents->searches[i];
		struct gpu_target gpu;

		if ((!config->launch || config->targets[i].pid != config->launch_pid) &&
		    !gpu_target_read(&config->targets[i], &gpu, NULL) && gpu.cuda)
			search->done = !nvtx_watch_look(&search->watch, &config->targets[i],
							&search->users, NULL);
	}
	return NULL;
}

int agents_nvtx_search(struct agents *agents)
{
	agents->searches = calloc(agents->config.target_count + 1, sizeof(*agents->searches));
	if (!agents->searches)
		return -ENOMEM;
	/* Without a thread it is done when each agent is put in. */
	if (agents->config.nvtx)
		agents->is_searching = !thread_start(&agents->searcher, search, agents);
	return 0;
}

void agents_nvtx_wait(struct agents *agents)
{
	if (agents->is_searching)
		pthread_join(agents->searcher, NULL);
	agents->is_searching = false;
}

void agents_nvtx_free(struct agents *agents)
{
	agents_nvtx_wait(agents);
	for (size_t i = 0; agents->searches && i < agents->config.target_count; i++)
		nvtx_watch_free(&agents->searches[i].watch);
	free(agents->searches);
	agents->searches = NULL;
}

void agents_nvtx_take(struct agents *agents, struct agent *agent, size_t target)
{
	struct nvtx_search *search = &agents->searches[target];

	agent->nvtx_searched = search->done;
	agent->nvtx_watch = search->watch;
	agent->report.nvtx_users = search->users;
	search->watch = (struct nvtx_watch){0};
}

void agents_nvtx_begin(const struct agents *agents, struct agent *agent)
{
	if (agents->config.nvtx && !agent->nvtx_searched)
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
