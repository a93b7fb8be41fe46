/* The agent of a command: it waits in the ring until the command, or a descendant, starts CUDA. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "collect/agents_internal.h"

#define TASKS_PERIOD_NS (100 * NS_PER_MILLISECOND)

int agents_launched_start(struct agents *agents, struct agent *agent, struct err *err)
{
	struct agent_launch *launch = agents->config.launch;
	struct cupti_supply *supply = &agent->report.supply;
	char path[AGENT_PATH_BYTES];
	int result = cupti_supply_choose(agent->target, &agent->report.gpu,
					 agents->config.cupti_named, "/", supply, err);

	if (!result)
		result = agent_launch_supply(launch, agent->target->pid, supply, path, sizeof(path),
					     err);
	if (result)
		return result;
	agent->injection.ring_fd = launch->lock_fd;
	launch->lock_fd = -1;
	result = agents_map_control(agents, agent, err);
	if (result)
		return result;
	agents_fill_control(agents, agent, agent->control);
	/* One that the command maps itself goes first; it has inherited what it can't open. */
	agent->control->cupti.handover = 0;
	memcpy(agent->control->cupti.path, path, sizeof(path));
	agent->launch = launch;
	agent->report.launched = true;
	agent->report.outcome = AGENT_AWAITED;
	return 0;
}

/* A process of the command's that has ended in between is taken for the command itself. */
static int meet(struct agents *agents, struct agent *agent)
{
	u32 tid = agent->control->fixed.agent_tid;
	const struct target *process = agent->target;
	u32 pid = agent_launch_taker(agent->launch, process->pid, tid);

	if (pid && pid != process->pid && !target_open(pid, false, &agent->taker, NULL)) {
		process = &agent->taker;
		agent_threads_free(&agent->threads);
		agent_threads_init(&agent->threads, process);
	}
	gpu_target_read(process, &agent->report.gpu, NULL);
	return agents_create_ring(agents, agent, process);
}

int agents_launched_look(struct agents *agents, struct agent *agent, record_callback callback,
			 void *callback_data)
{
	u32 state = __atomic_load_n(&agent->control->fixed.state, __ATOMIC_ACQUIRE);
	u64 now_ns = clock_monotonic_ns();
	int result = 0;

	if (state == AGENT_STATE_NONE || state == AGENT_STATE_STARTING ||
	    state == AGENT_STATE_FAILED)
		return 0;
	if (!agent->ring)
		result = meet(agents, agent);
	else if (now_ns - agent->tasks_ns < TASKS_PERIOD_NS)
		return 0;
	agent->tasks_ns = now_ns;
	return result ? result
		      : recording_facts_threads(agent->taker.pid ? &agent->taker : agent->target,
						&agent->tasks, callback, callback_data);
}

bool agents_launched_end(struct agent *agent)
{
	u32 none = AGENT_STATE_NONE;

	return !__atomic_compare_exchange_n(&agent->control->fixed.state, &none, AGENT_STATE_GONE,
					    false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
