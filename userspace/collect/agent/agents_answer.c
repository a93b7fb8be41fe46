/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the agents work: what each said of itself and of CUPTI, or that it said nothing in time. */
#include <stdio.h>

#include "collect/agent/agent_handover.h"
#include "collect/agent/agents_parts.h"

static void fail_by_hint(struct agent *agent, const char *hint, size_t hint_bytes)
{
	char words[AGENT_HINT_BYTES + 1];

	agents_copy_string(words, sizeof(words), hint, hint_bytes);
	agents_fail(agent, *words ? words : "the agent ended without a reason");
}

void agents_stacks_report(const struct agents *agents, struct agent *agent)
{
	const struct agent_feature *feature = &agent->control->features[AGENT_FEATURE_STACKS];
	u32 state = __atomic_load_n(&feature->state, __ATOMIC_ACQUIRE);
	char *why = agent->report.stacks_why;

	if (agents->stacks_why && agents->config.stacks)
		snprintf(why, AGENT_HINT_BYTES, "%s", agents->stacks_why);
	/* Those of READY say from when on there are none. */
	else if (agent->stacks.shared && state != AGENT_FEATURE_OFF)
		agents_copy_string(why, AGENT_HINT_BYTES, feature->hint, AGENT_HINT_BYTES);
}

void agents_look_for_answer(const struct agents *agents, struct agent *agent)
{
	const struct agent_feature *cupti = &agent->control->features[AGENT_FEATURE_CUPTI];
	/* First, so that its last word is seen. */
	bool ended = agents_thread_has_ended(agent);
	u32 feature = __atomic_load_n(&cupti->state, __ATOMIC_ACQUIRE), state = agents_state(agent);

	agents_nvtx_report(agent);
	agents_stacks_report(agents, agent);
	if (!agent->launch && target_is_gone(agent->target)) {
		agents_fail(agent, "the target ended");
		agent->report.ended_first = true;
	} else if (state == AGENT_STATE_FAILED) {
		fail_by_hint(agent, agent->control->hint, AGENT_HINT_BYTES);
	} else if (feature == AGENT_FEATURE_FAILED || feature == AGENT_FEATURE_IGNORED) {
		fail_by_hint(agent, cupti->hint, AGENT_HINT_BYTES);
	} else if (feature == AGENT_FEATURE_READY && state >= AGENT_STATE_READY) {
		agents_copy_string(agent->report.why, sizeof(agent->report.why), cupti->hint,
				   AGENT_HINT_BYTES);
		agent->report.cupti = agent->control->cupti_facts;
		agents_copy_string(agent->report.cupti.path, AGENT_PATH_BYTES,
				   agent->control->cupti_facts.path, AGENT_PATH_BYTES);
		agents_copy_string(agent->report.cupti.other_client,
				   sizeof(agent->report.cupti.other_client),
				   agent->control->cupti_facts.other_client,
				   sizeof(agent->report.cupti.other_client));
		agent->answered = true;
	} else if (ended) {
		agents_fail(agent,
			    "the agent ended at once: the limits of the target (RLIMIT_AS, "
			    "RLIMIT_MEMLOCK) leave no room for the memory that it shares with "
			    "gpuprobe; --agent-buffer-mb makes that smaller, and without "
			    "--launch-stacks agent it takes 97 MiB less");
	}
}

bool agents_all_answered(struct agents *agents)
{
	bool all = true;

	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		if (!agent->answered) {
			agents_look_for_answer(agents, agent);
			/* It may have loaded CUPTI. */
			if (agent->answered && agent->report.outcome == AGENT_WORKS)
				agents_others_watch(agents, agent);
		}
		if (!agent->answered)
			agent_handover_serve(agent->target, agent->control, &agent->report.supply);
		all &= agent->answered;
	}
	return all;
}

void agents_give_up(struct agents *agents)
{
	for (size_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->agents[i];

		/* It may have answered since the last look. */
		if (!agent->answered)
			agents_look_for_answer(agents, agent);
		if (!agent->answered)
			agents_fail(agent,
				    "the agent gave no answer in time: CUPTI takes long to start");
	}
}
