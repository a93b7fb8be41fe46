/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agents of a command: each ring waits until the command, or a descendant, starts CUDA. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/agent/agents_parts.h"

#define TASKS_PERIOD_NS (100 * NS_PER_MILLISECOND)

/* path: of the CUPTI that the agent is to load. */
static int prepare_ring(struct agents *agents, struct agent *agent, u32 number,
			const char path[AGENT_PATH_BYTES], struct err *err)
{
	struct agent_launch *launch = agents->config.launch;
	int result;

	agent->answered = true;
	agent->ring_number = number;
	/* Of one description: the lock is held until the last is closed. */
	agent->injection.ring_fd = fcntl(launch->lock_fd, F_DUPFD_CLOEXEC, 0);
	if (agent->injection.ring_fd < 0)
		return err_errno(err, -errno, "can't prepare an agent for the command");
	result = agents_map_control(agents, agent, err);
	if (result)
		return result;
	agents_fill_control(agents, agent, agent->control);
	/* One that the command maps itself goes first; it has inherited what it can't open. */
	agent->control->cupti.handover = 0;
	memcpy(agent->control->cupti.path, path, AGENT_PATH_BYTES);
	agent->launch = launch;
	return 0;
}

/* Without room for all there are fewer rings. */
static void prepare_more_rings(struct agents *agents, const struct agent *first,
			       const char path[AGENT_PATH_BYTES])
{
	for (u32 number = 1; number < AGENT_LAUNCH_RINGS; number++) {
		struct agent *agent = agents_next(agents, first->target);

		if (!agent)
			return;
		agent->report.supply = first->report.supply;
		agents_count_in(agents);
		if (prepare_ring(agents, agent, number, path, NULL))
			return;
	}
}

/* What the agents of a command are to load as CUPTI: "" where it is mapped already, or there is none. */
static int supply_command(struct agent_launch *launch, u32 pid, const struct cupti_supply *supply,
			  char path[AGENT_PATH_BYTES], struct err *err)
{
	_cleanup_close_ int fd = -1;

	if (!supply->by_memfd) {
		snprintf(path, AGENT_PATH_BYTES, "%s",
			 supply->place == CUPTI_PLACE_MAPPED ? "" : supply->path);
		return 0;
	}
	fd = cupti_supply_open(supply);
	if (fd < 0)
		return err_errno(err, fd, "can't hand %s to the command", supply->path);
	return agent_launch_hand_over(launch, pid, fd, supply->path, path, AGENT_PATH_BYTES, err);
}

int agents_launched_start(struct agents *agents, struct agent *agent, struct err *err)
{
	struct agent_launch *launch = agents->config.launch;
	struct cupti_supply *supply = &agent->report.supply;
	char path[AGENT_PATH_BYTES] = "";
	int result = cupti_supply_choose(agent->target, &agent->report.gpu,
					 agents->config.cupti_named, "/", supply, err);

	if (!result)
		result = cupti_supply_check(supply, agent->target, err);
	if (!result)
		result = supply_command(launch, agent->target->pid, supply, path, err);
	if (!result)
		result = prepare_ring(agents, agent, 0, path, err);
	if (result)
		return result;
	agents_expect_threads(agents, agent);
	agent->report.late = true;
	agent->report.outcome = AGENT_AWAITED;
	prepare_more_rings(agents, agent, path);
	cleanup_close(&launch->lock_fd);
	launch->lock_fd = -1;
	return 0;
}

/* A process of the command's that has ended in between is taken for the command itself. */
static int meet(struct agents *agents, struct agent *agent)
{
	u32 tid = agent->control->fixed.agent_tid;
	const struct target *process = agent->target;
	u32 pid = agent_launch_taker(agent->launch, agent->ring_number, process->pid, tid);

	if (pid && pid != process->pid && !target_open(pid, false, &agent->taker, NULL)) {
		process = &agent->taker;
		agent_threads_free(&agent->threads);
		agent_threads_init(&agent->threads, process);
	}
	gpu_target_read(process, &agent->report.gpu, NULL);
	agents_nvtx_look(agents, agent, process);
	agents_tell_threads(agents, agent);
	agent->to_watch = true;
	return agents_create_ring(agents, agent, process);
}

/* Nobody has come to a ring without a thread, whatever its state: at the end unused ones are closed (agents_launched_end). */
int agents_late_look(struct agents *agents, struct agent *agent, record_callback callback,
		     void *callback_data)
{
	u32 state = agent->control ? __atomic_load_n(&agent->control->fixed.state, __ATOMIC_ACQUIRE)
				   : AGENT_STATE_NONE;
	u64 now_ns = clock_monotonic_ns();
	int result = 0;

	if (state == AGENT_STATE_NONE || state == AGENT_STATE_STARTING ||
	    state == AGENT_STATE_FAILED || !agent->control->fixed.agent_tid)
		return 0;
	if (!agent->ring)
		result = meet(agents, agent);
	else if (now_ns - agent->tasks_ns < TASKS_PERIOD_NS)
		return 0;
	if (!result)
		result = recording_facts_threads(agents_process(agent), &agent->tasks, callback,
						 callback_data);
	agent->tasks_ns = now_ns;
	__atomic_store_n(&agent->control->met, 1, __ATOMIC_RELEASE);
	return result;
}

void agents_late_watch(struct agents *agents)
{
	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		if (!agent->to_watch)
			continue;
		agent->to_watch = false;
		if (agents_state(agent) >= AGENT_STATE_LEAVING ||
		    target_is_gone(agents_process(agent)))
			continue;
		agents_others_watch(agents, agent);
		agents_others_tell(agents, agent);
		return;
	}
}

void agents_launched_end(struct agents *agents, struct agent *agent)
{
	u32 none = AGENT_STATE_NONE;

	agents->turned_away += __atomic_load_n(&agent->control->turned_away, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(&agent->control->fixed.state, &none, AGENT_STATE_GONE,
					false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		agent->report.outcome = AGENT_NOT_CUDA;
		return;
	}
	agent->report.late = true;
	agent->report.outcome = AGENT_AWAITED;
	agent->answered = false;
}
