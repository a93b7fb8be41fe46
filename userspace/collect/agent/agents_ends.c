/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of a process was recorded only up to a moment inside the window: the budget of the recording had it switched off, or CUPTI was
 * lost. Said at once, since the recording may be cut.
 */
#include "base/clock.h"
#include "collect/agent/agents_parts.h"

static u64 clamp(u64 ns, u64 least_ns, u64 most_ns)
{
	if (ns < least_ns)
		return least_ns;
	return ns < most_ns ? ns : most_ns;
}

/* A target may write any time there: it lies in the window. */
static int put(const struct agents *agents, const struct agent *agent, struct batch *batch, u8 sort,
	       u8 why, u64 at_ns, u64 complete_ns)
{
	at_ns = clamp(at_ns, agents->window_start_ns, clock_monotonic_ns());
	complete_ns = clamp(complete_ns, agents->window_start_ns, at_ns);
	return recording_facts_end(batch, agents_process(agent)->pid, sort, why, at_ns,
				   complete_ns);
}

static int put_shed(const struct agents *agents, const struct agent *agent, struct batch *batch)
{
	u32 done = __atomic_load_n(&agent->control->shed_done, __ATOMIC_ACQUIRE);
	u64 at_ns = agent->control->shed_ns + agent->clock_shift_ns;
	int result = 0;

	/* Said again when all of it goes, with a later time: the first one holds. */
	if (done >= AGENT_SHED_CALLS)
		result = put(agents, agent, batch, VALUE_recorded_sort_cuda_calls,
			     VALUE_recording_end_why_budget, at_ns, at_ns);
	if (done >= AGENT_SHED_ALL && !result)
		result = put(agents, agent, batch, VALUE_recorded_sort_gpu,
			     VALUE_recording_end_why_budget, at_ns, at_ns);
	return result;
}

/* What CUPTI had not handed over by then went to whoever has it now. */
static int put_lost(const struct agents *agents, const struct agent *agent, struct batch *batch)
{
	static const u8 whys[] = {
		[CUPTI_LOST_TAKEN] = VALUE_recording_end_why_taken_over,
		[CUPTI_LOST_FINALIZED] = VALUE_recording_end_why_taken_down,
		[CUPTI_LOST_SILENT] = VALUE_recording_end_why_silent,
		[CUPTI_LOST_KERNELS] = VALUE_recording_end_why_kernels_off,
	};
	const struct agent_cupti_facts *facts = &agent->control->cupti_facts;
	u64 lost_ns = __atomic_load_n(&facts->lost_ns, __ATOMIC_ACQUIRE);
	u64 complete_ns = __atomic_load_n(&facts->handed_over_ns, __ATOMIC_ACQUIRE);
	u32 reason = facts->lost_reason;
	u8 why = reason < ARRAY_SIZE(whys) ? whys[reason] : 0;
	int result = 0;

	if (!lost_ns)
		return 0;
	lost_ns += agent->clock_shift_ns;
	complete_ns += complete_ns ? agent->clock_shift_ns : 0;
	result = put(agents, agent, batch, VALUE_recorded_sort_gpu, why, lost_ns, complete_ns);
	if (!result && reason != CUPTI_LOST_KERNELS)
		result = put(agents, agent, batch, VALUE_recorded_sort_cuda_calls, why, lost_ns,
			     complete_ns);
	return result;
}

/* With the program what CUPTI had not handed over is gone. */
static int put_executed(const struct agents *agents, const struct agent *agent, struct batch *batch)
{
	u64 executed_ns = __atomic_load_n(&agent->report.executed_ns, __ATOMIC_ACQUIRE);
	u64 complete_ns =
		__atomic_load_n(&agent->control->cupti_facts.handed_over_ns, __ATOMIC_ACQUIRE);
	int result;

	if (!executed_ns)
		return 0;
	complete_ns += complete_ns ? agent->clock_shift_ns : 0;
	result = put(agents, agent, batch, VALUE_recorded_sort_gpu,
		     VALUE_recording_end_why_executed, executed_ns, complete_ns);
	return result ? result
		      : put(agents, agent, batch, VALUE_recorded_sort_cuda_calls,
			    VALUE_recording_end_why_executed, executed_ns, complete_ns);
}

/* What CUPTI has not handed over by now is as good as lost. Of a process that has ended the GPU was idle from then on. */
static int put_cut(const struct agents *agents, const struct agent *agent, struct batch *batch)
{
	u64 at_ns = agents->window_end_ns - 1, complete_ns;
	int result;

	if (!agent->report.cut || agent->report.ended || !agents->window_end_ns)
		return 0;
	complete_ns =
		__atomic_load_n(&agent->control->cupti_facts.handed_over_ns, __ATOMIC_ACQUIRE);
	complete_ns += complete_ns ? agent->clock_shift_ns : 0;
	result = put(agents, agent, batch, VALUE_recorded_sort_gpu, VALUE_recording_end_why_cut,
		     at_ns, complete_ns);
	return result ? result
		      : put(agents, agent, batch, VALUE_recorded_sort_cuda_calls,
			    VALUE_recording_end_why_cut, at_ns, complete_ns);
}

/* Events come late: what it executed before the agent was put in is the program that this is in, and what has its number now may be another process. */
static bool is_gone_with(const struct agent *agent, u32 pid, u64 ts)
{
	const struct target *process = agents_process(agent);

	/* Of a command the driver loads it with the program that uses CUDA. */
	return agent->control && !agent->launch && agent->put_in_ns && ts > agent->put_in_ns &&
	       process->pid == pid && !target_is_gone(process) && !agent->report.executed_ns;
}

void agents_note_exec(struct agents *agents, u32 pid, u64 ts)
{
	for (size_t i = 0; i < agents->count; i++)
		if (is_gone_with(&agents->agents[i], pid, ts))
			__atomic_store_n(&agents->agents[i].report.executed_ns, ts,
					 __ATOMIC_RELEASE);
}

int agents_put_ends(const struct agents *agents, const struct agent *agent, struct batch *batch)
{
	int result;

	if (!agent->control || !agents->window_start_ns ||
	    (agent->report.outcome != AGENT_WORKS && agent->report.outcome != AGENT_AWAITED))
		return 0;
	result = put_shed(agents, agent, batch);
	if (!result)
		result = put_lost(agents, agent, batch);
	if (!result)
		result = put_executed(agents, agent, batch);
	return result ? result : put_cut(agents, agent, batch);
}
