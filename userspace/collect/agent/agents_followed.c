/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Agents for targets, and descendants of them, that start CUDA inside the window. */
#include <errno.h>
#include <stdlib.h>

#include "process/descendants.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/agent/agents_parts.h"

#define FOLLOW_PERIOD_NS (500 * NS_PER_MILLISECOND)
#define TRIES_MAX	 20
/* Programs map the driver some time before they start it. */
#define UNREACHED_NS (2 * NS_PER_SECOND)

enum seen { SEEN_FIRST, SEEN_LAST, SEEN_TURNED_AWAY };

static struct agent *find(const struct agents *agents, u32 pid)
{
	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		if (!agent->launch && agent->target->pid == pid && !target_is_gone(agent->target))
			return agent;
	}
	return NULL;
}

/* The drain thread knows the agent already, and is to find it late only when it has all that a late one has. */
static void start_known(struct agents *agents, struct agent *agent)
{
	__atomic_store_n(&agent->report.late, false, __ATOMIC_RELEASE);
	agents_start_one(agents, agent, NULL);
	__atomic_store_n(&agent->report.late, true, __ATOMIC_RELEASE);
}

/* A process that has just begun often has no thread that could be borrowed: it is asked again. */
static void try_again(struct agents *agents, struct agent *agent)
{
	if (!agent->report.late || agent->launch || agent->control ||
	    agent->report.outcome != AGENT_REFUSED || agent->report.tries >= TRIES_MAX)
		return;
	agent->report.tries++;
	start_known(agents, agent);
}

static void put_in(struct agents *agents, struct target *process)
{
	struct agent *agent = agents_next(agents, process);

	if (!agent) {
		/* It is looked at again and again, and is one. */
		if (!map_find(&agents->unreached, process->pid, SEEN_TURNED_AWAY))
			agents->turned_away++;
		map_set(&agents->unreached, process->pid, SEEN_TURNED_AWAY, 0);
		return;
	}
	agent->taker = *process;
	*process = (struct target){.pidfd = -1, .proc_fd = -1};
	agent->target = agent->report.target = &agent->taker;
	agent->report.late = true;
	agent_threads_init(&agent->threads, agent->target);
	agents_start_one(agents, agent, NULL);
	agents_count_in(agents);
}

/* The driver will load the agent as soon as it is started, or it can't. */
static void note_unreached(struct agents *agents, u32 pid)
{
	u64 now_ns = clock_monotonic_ns();

	if (!map_find(&agents->unreached, pid, SEEN_FIRST))
		map_set(&agents->unreached, pid, SEEN_FIRST, now_ns);
	map_set(&agents->unreached, pid, SEEN_LAST, now_ns);
}

static bool has_driver(const struct target *process)
{
	struct gpu_target gpu;

	return !gpu_target_read(process, &gpu, NULL) && gpu.cuda;
}

/* What was forked from a process with an agent has its library mapped, and can't use CUDA. */
static void look_at(struct agents *agents, u32 pid)
{
	struct agent *agent = find(agents, pid);
	struct target process;
	bool has_library, reaches;

	if (agent) {
		try_again(agents, agent);
		return;
	}
	if (target_open(pid, false, &process, NULL))
		return;
	if (has_driver(&process)) {
		has_library = agent_launch_has_library(&process);
		reaches = agents->config.launch && agent_launch_reaches(&process);
		/* One that executes a program has no environment yet, one that ends has none any more, nor a library: but no driver either. */
		if (!has_library && has_driver(&process)) {
			if (reaches)
				note_unreached(agents, pid);
			else
				put_in(agents, &process);
		}
	}
	target_close(&process);
}

/* Of the targets the agents are the first ones. */
static void look_at_targets(struct agents *agents)
{
	for (size_t i = 0; i < agents->config.target_count; i++) {
		struct agent *agent = &agents->agents[i];

		if (target_is_gone(agent->target))
			continue;
		if (agent->report.outcome == AGENT_NOT_CUDA && !agent->launch &&
		    has_driver(agent->target))
			start_known(agents, agent);
		else
			try_again(agents, agent);
	}
}

/* Of a command those are targets that --children asks for, and agents get all; else those of parents that have ended are targets, too. */
static int list_descendants(const struct agents *agents, u32 **ret_pids, size_t *ret_count)
{
	const struct agents_config *config = &agents->config;
	_cleanup_free_ u32 *given = NULL;

	if (!config->launch)
		return bpf_source_targets(config->source, ret_pids, ret_count);
	given = calloc(config->target_count + 1, sizeof(*given));
	if (!given)
		return -ENOMEM;
	for (size_t i = 0; i < config->target_count; i++)
		given[i] = config->targets[i].pid;
	return descendants_list(given, config->target_count, ret_pids, ret_count, NULL);
}

static void look_at_descendants(struct agents *agents)
{
	_cleanup_free_ u32 *pids = NULL;
	size_t count = 0;

	if (list_descendants(agents, &pids, &count))
		return;
	for (size_t i = 0; i < count; i++)
		look_at(agents, pids[i]);
	if (agents->config.launch)
		look_at(agents, agents->config.launch_pid);
}

void agents_follow(struct agents *agents)
{
	if (!agents_follows(agents) ||
	    clock_monotonic_ns() - agents->followed_ns < FOLLOW_PERIOD_NS)
		return;
	if (agents->config.late_targets)
		look_at_targets(agents);
	if (agents->config.follow)
		look_at_descendants(agents);
	agents_all_answered(agents);
	agents->followed_ns = clock_monotonic_ns();
}

/* Has a ring been taken by it after all? */
static bool has_agent(const struct agents *agents, u32 pid)
{
	for (size_t i = 0; i < agents->count; i++) {
		const struct agent *agent = &agents->agents[i];

		if (agent->launch && agent->report.outcome != AGENT_NOT_CUDA &&
		    agents_process(agent)->pid == pid)
			return true;
	}
	return false;
}

size_t agents_unreached(const struct agents *agents, u32 *ret_example)
{
	size_t count = 0;

	for (size_t i = 0; i < agents->unreached.capacity; i++) {
		const struct map_slot *slot = &agents->unreached.slots[i];
		const u64 *last = NULL;

		if (slot->used && slot->key_b == SEEN_FIRST && !has_agent(agents, slot->key_a))
			last = map_find(&agents->unreached, slot->key_a, SEEN_LAST);
		if (!last || *last - slot->value < UNREACHED_NS)
			continue;
		if (!count++)
			*ret_example = slot->key_a;
	}
	return count;
}

/* None that ended meanwhile has an agent, or was found to need none. */
static bool was_tried(const struct agents *agents, u32 pid)
{
	for (size_t i = 0; i < agents->count; i++) {
		const struct agent *agent = &agents->agents[i];

		if (agents_process(agent)->pid == pid &&
		    (!agent->report.late || agent->report.outcome != AGENT_NOT_CUDA))
			return true;
	}
	return map_find(&agents->unreached, pid, SEEN_TURNED_AWAY);
}

/* What a command starts gets its agent by the driver. */
static bool is_unmet(const struct agents *agents, u32 pid)
{
	return agents->config.follow && !agents->config.launch && !was_tried(agents, pid);
}

void agents_hurry(struct agents *agents, u32 pid)
{
	if (is_unmet(agents, pid))
		agents->followed_ns = 0;
}

void agents_note_driver(struct agents *agents, u32 pid)
{
	if (is_unmet(agents, pid) && !agents->unmet++)
		agents->unmet_example = pid;
}

size_t agents_unmet(const struct agents *agents, u32 *ret_example)
{
	size_t count = agents->unmet;

	*ret_example = agents->unmet_example;
	for (size_t i = 0; i < agents->count; i++) {
		const struct agent_report *report = &agents->agents[i].report;

		if (agent_report_ended_first(report) && !count++)
			*ret_example = report->target->pid;
	}
	return count;
}

bool agents_follows(const struct agents *agents)
{
	return agents->config.follow || agents->config.late_targets;
}

u64 agents_turned_away(const struct agents *agents)
{
	return agents->turned_away;
}
