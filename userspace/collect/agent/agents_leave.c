/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Letting go of the agents. That one has left is what the kernel says of its thread, not what the target says: the
 * last that this thread does is to close and unmap what is ours.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/agent/agents_parts.h"

#define LEAVE_POLL_US 2000
#define FLUSH_MAX_NS  (2 * NS_PER_SECOND)

static bool says_it_left(const struct agent *agent)
{
	u32 state = agents_state(agent);

	return state == AGENT_STATE_GONE || state == AGENT_STATE_RESIDENT ||
	       state == AGENT_STATE_FAILED || (agent->launch && state == AGENT_STATE_DRAINED);
}

bool agents_has_left(const struct agent *agent)
{
	if (target_is_gone(agents_process(agent)) || agents_thread_has_ended(agent))
		return true;
	/* No thread of ours that lives is held for gone, whatever was told. */
	return !agent->injection.own.tid && (agent->report.executed_ns || says_it_left(agent));
}

static bool is_long_ago(const struct agent *agent, const u64 *target_ns)
{
	u64 now_ns = clock_monotonic_ns() - agent->clock_shift_ns;
	u64 since_ns = __atomic_load_n(target_ns, __ATOMIC_ACQUIRE);

	return since_ns && since_ns < now_ns && now_ns - since_ns > FLUSH_MAX_NS;
}

/* CUPTI's flush and its end wait for the GPU without a limit, and with them the agent: it leaves when they return. */
static bool is_stuck(struct agent *agent)
{
	agent->report.stuck = is_long_ago(agent, &agent->control->flushing_ns);
	agent->report.finalizing = is_long_ago(agent, &agent->control->finalizing_ns);
	return agent->report.stuck || agent->report.finalizing;
}

static bool all_have_left(struct agents *agents)
{
	for (size_t i = 0; i < agents->count; i++)
		if (agents->agents[i].control && !agents_has_left(&agents->agents[i]) &&
		    !is_stuck(&agents->agents[i]))
			return false;
	return true;
}

static void ask_to_leave(struct agents *agents)
{
	for (size_t i = 0; i < agents->count; i++)
		if (agents->agents[i].control)
			__atomic_store_n(&agents->agents[i].control->fixed.wanted,
					 AGENT_WANTED_LEAVE, __ATOMIC_RELEASE);
}

static void copy_hint(struct agent *agent)
{
	agents_copy_string(agent->report.why, sizeof(agent->report.why), agent->control->hint,
			   AGENT_HINT_BYTES);
}

static void audit(struct agent *agent)
{
	struct text _cleanup_text_ text = {0};
	_cleanup_process_audit_ struct process_audit after = {0};
	u32 state = agents_state(agent);

	agent->report.cut = state < AGENT_STATE_DRAINED && !agent->report.finalizing;
	agent->report.stuck &= agent->report.cut;
	agent->report.silent =
		agent->report.outcome == AGENT_WORKS && !agents_counter(agent, AGENT_COUNT_WORK);
	agent->report.ended = target_is_gone(agent->target);
	if (!agent->report.ended && !agent->report.executed_ns &&
	    !process_audit_take(agent->target->pid, &agent->injection.own, &after, NULL)) {
		process_audit_compare(&agent->before, &after, &text);
		snprintf(agent->report.audit, sizeof(agent->report.audit), "%s",
			 text_string(&text));
		agent->report.left_behind =
			after.own_thread_count || after.own_fd_count ||
			(after.own_mapping_count && state != AGENT_STATE_RESIDENT);
		/* Its library stays where a thread of the target is in it. */
		agent->report.audit_is_plain = !agent->report.left_behind &&
					       !after.own_mapping_count &&
					       after.thread_count <= agent->before.thread_count &&
					       after.fd_count <= agent->before.fd_count;
	}
	if (state == AGENT_STATE_RESIDENT && agent->report.outcome == AGENT_WORKS)
		copy_hint(agent);
}

/* Of a command it is known at the end only whether there was anything to record. */
static void resolve(const struct agents *agents, struct agent *agent)
{
	if (agent->report.outcome != AGENT_AWAITED)
		return;
	agent->report.outcome = AGENT_WORKS;
	agent->report.cut = agents_state(agent) < AGENT_STATE_DRAINED && !agent->report.finalizing;
	agent->report.ended = target_is_gone(agents_process(agent));
	agents_look_for_answer(agents, agent);
	if (!agent->answered)
		agents_fail(agent, "the agent gave no answer");
	agent->report.silent =
		agent->report.outcome == AGENT_WORKS && !agents_counter(agent, AGENT_COUNT_WORK);
	if (agents_state(agent) == AGENT_STATE_RESIDENT)
		copy_hint(agent);
}

void agents_leave(struct agents *agents, u32 timeout_ms)
{
	u64 deadline_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MILLISECOND;

	ask_to_leave(agents);
	agents_give_up(agents);
	for (size_t i = 0; i < agents->count; i++)
		if (agents->agents[i].launch)
			agents_launched_end(agents, &agents->agents[i]);
	while (!all_have_left(agents) && clock_monotonic_ns() < deadline_ns) {
		usleep(LEAVE_POLL_US);
		/* The target may have written over it. */
		ask_to_leave(agents);
	}
	for (size_t i = 0; i < agents->count; i++)
		if (agents->agents[i].control) {
			agents_others_read(agents, &agents->agents[i]);
			agents_stacks_report(agents, &agents->agents[i]);
		}
	for (size_t i = 0; i < agents->count; i++)
		if (agents->agents[i].launch)
			resolve(agents, &agents->agents[i]);
		else if (agents->agents[i].control)
			audit(&agents->agents[i]);
	for (size_t i = 0; i < agents->count; i++)
		if (agents->agents[i].ring)
			agent_ring_end(agents->agents[i].ring);
}

void agents_watch_end(struct agents *agents, struct uprobe_set *left)
{
	agents->watch = cupti_watch_close(agents->watch, left);
}
