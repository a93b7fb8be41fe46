/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What agents lost, by their own counters. A target can write to these, so a number that nothing could have come to is
 * left out, and that is counted in its place.
 */
#include "base/clock.h"
#include "collect/agent/agents_parts.h"
#include "../bpf/shared.h"

/* No process loses more than one record a nanosecond. */
#define LOST_MAX_PER_NS 1

static const struct {
	enum agent_counter counter;
	u32 reason;
} counted_losses[] = {
	{AGENT_COUNT_RING_FULL, VALUE_loss_reason_agent_ring_full},
	{AGENT_COUNT_CUPTI_DROPPED, VALUE_loss_reason_cupti_dropped},
	{AGENT_COUNT_NO_TIMESTAMPS, VALUE_loss_reason_no_timestamps},
	{AGENT_COUNT_ACTIVITY_UNKNOWN, VALUE_loss_reason_activity_unknown},
	{AGENT_COUNT_FACTS_CAPPED, VALUE_loss_reason_facts_capped},
	{AGENT_COUNT_CAPPED_CALLBACKS, VALUE_loss_reason_events_capped},
	{AGENT_COUNT_CAPPED_ACTIVITIES, VALUE_loss_reason_events_capped},
	{AGENT_COUNT_STACKS_UNKNOWN, VALUE_loss_reason_launch_stack_missing},
	{AGENT_COUNT_STACKS_CUT, VALUE_loss_reason_stack_cut},
	{AGENT_COUNT_RANGE_UNMATCHED, VALUE_loss_reason_range_unmatched},
	{AGENT_COUNT_RANGE_LOST, VALUE_loss_reason_range_lost},
};

static void count_losses(const struct agent *agent, u64 counts[LOSS_REASONS_MAX])
{
	u64 possible = (clock_monotonic_ns() - agent->started_ns) * LOST_MAX_PER_NS;

	for (size_t i = 0; i < ARRAY_SIZE(counted_losses); i++) {
		u64 count = agents_counter(agent, counted_losses[i].counter);

		if (count <= possible)
			counts[counted_losses[i].reason] += count;
		else
			counts[VALUE_loss_reason_counters_damaged] = 1;
	}
	if (agent->ring)
		counts[VALUE_loss_reason_record_damaged] = agent_ring_damaged(agent->ring);
}

u64 agents_lost(const struct agents *agents)
{
	u64 sum = 0;

	for (size_t i = 0; agents && i < agents->count; i++) {
		const struct agent *agent = &agents->agents[i];
		u64 counts[LOSS_REASONS_MAX] = {0};

		if (!agent->control || agent->report.outcome != AGENT_WORKS)
			continue;
		count_losses(agent, counts);
		for (u32 reason = 0; reason < LOSS_REASONS_MAX; reason++)
			if (schema_loss_class(reason) == LOSS_CLASS_RECORDS)
				sum += counts[reason];
	}
	return sum;
}

static int add_losses_of(const struct agent *agent, struct batch *batch)
{
	u64 counts[LOSS_REASONS_MAX] = {0};
	const u64 moments_ns[LOSS_REASONS_MAX] = {
		[VALUE_loss_reason_gpu_taken_over] = agent->report.lost_ns,
		[VALUE_loss_reason_profiler_refused] = agent->report.refused_ns,
	};
	int result = 0;

	if (agent->report.outcome == AGENT_REFUSED || agent->report.outcome == AGENT_FAILED)
		counts[VALUE_loss_reason_gpu_times_missing] = 1;
	if (agent->control && agent->report.outcome == AGENT_WORKS) {
		count_losses(agent, counts);
		counts[VALUE_loss_reason_clock_fitted] = !agent->report.cupti.timestamps_ours;
		counts[VALUE_loss_reason_agent_cut] = agent->report.cut;
		counts[VALUE_loss_reason_gpu_taken_over] = *agent->report.lost_why != 0;
		counts[VALUE_loss_reason_profiler_refused] = *agent->report.refused_why != 0;
	}
	for (u32 reason = 0; reason < LOSS_REASONS_MAX && !result; reason++)
		result = recording_facts_loss_at(batch, RECORD_SOURCE_TOOL, reason, agent->place,
						 counts[reason], moments_ns[reason]);
	return result;
}

int agents_add_losses(void *data, struct batch *batch)
{
	struct agents *agents = data;
	int result = 0;

	/* One that came late has its place at the end only: what was added without would be counted once more then. */
	for (size_t i = 0; i < agents->count && !result; i++)
		result = agents_put_ends(agents, &agents->agents[i], batch);
	for (size_t i = 0; i < agents->count && !result; i++)
		if (agents->agents[i].report.outcome != AGENT_NOT_CUDA && agents->agents[i].place)
			result = add_losses_of(&agents->agents[i], batch);
	if (!result)
		result = recording_facts_loss(batch, RECORD_SOURCE_TOOL,
					      VALUE_loss_reason_gpu_times_missing, agents->place,
					      agents->turned_away + agents->unmet);
	return result;
}
