/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is written of the agents into the capture, as facts. */
#include <stdio.h>

#include "collect/agent/agents_parts.h"
#include "cuda/cupti_defects.h"

static int put_version(struct recording_facts *facts, struct batch *batch, const char *what,
		       const struct agent *agent, const char *value)
{
	char key[64];

	snprintf(key, sizeof(key), "%s of %u", what, agent->target->pid);
	return recording_facts_attribute(facts, batch, VALUE_attribute_group_gpu, key, value);
}

static int put_agent_facts(struct agent *agent, struct recording_facts *facts, struct batch *batch)
{
	const struct agent_cupti_facts *cupti = &agent->report.cupti;
	char version[32], driver[32], place[64];
	int result;

	snprintf(place, sizeof(place), "%s (%u)", agent->target->comm, agent->target->pid);
	result = text_ids_get(&facts->tool, batch, place, &agent->place);
	if (result || agent->report.outcome != AGENT_WORKS)
		return result;
	snprintf(version, sizeof(version), "%u", cupti->cupti_version);
	snprintf(driver, sizeof(driver), "%u.%u", cupti->driver_version / 1000,
		 cupti->driver_version % 1000 / 10);
	result = put_version(facts, batch, "CUPTI version", agent, version);
	if (!result)
		result = put_version(facts, batch, "CUPTI library", agent, cupti->path);
	if (!result)
		result = put_version(facts, batch, "CUDA version of the driver", agent, driver);
	if (!result)
		result = put_version(facts, batch, "driver", agent,
				     agent->report.gpu.driver_version);
	if (!result && agent->report.gpu.cupti_count > 1) {
		snprintf(version, sizeof(version), "%u", agent->report.gpu.cupti_count);
		result = put_version(facts, batch, "copies of CUPTI", agent, version);
	}
	/* See view/gpu_edge.h. */
	if (!result && agent->launch)
		result = put_version(facts, batch, "agent", agent, "loaded by the driver");
	return result;
}

static u64 processes_with(const struct agents *agents, const struct cupti_defect *defect)
{
	u64 count = 0;

	for (size_t i = 0; i < agents->count; i++) {
		const struct agent_report *report = &agents->agents[i].report;

		count += report->outcome == AGENT_WORKS &&
			 cupti_defect_has(defect, report->cupti.cupti_version);
	}
	return count;
}

/* What CUPTI is known to do wrong is no loss, but has its line in the ledger, which says all that may not be as it seems. */
static int put_defects(const struct agents *agents, struct recording_facts *facts,
		       struct batch *batch)
{
	const struct cupti_defect *defect = NULL;
	char words[256];
	u32 place;
	int result = 0;

	while (!result && (defect = cupti_defect_next(defect))) {
		u64 count = processes_with(agents, defect);

		if (!count)
			continue;
		snprintf(words, sizeof(words), "%s: %s; mended in %s", defect->what, defect->words,
			 defect->mended);
		result = text_ids_get(&facts->tool, batch, words, &place);
		if (!result)
			result = recording_facts_loss(batch, RECORD_SOURCE_TOOL,
						      VALUE_loss_reason_cupti_defect, place, count);
	}
	return result;
}

int agents_put_facts(struct agents *agents, struct recording_facts *facts, struct batch *batch)
{
	int result = text_ids_get(&facts->tool, batch, "descendants", &agents->place);

	for (size_t i = 0; i < agents->count && !result; i++)
		if (agents->agents[i].report.outcome != AGENT_NOT_CUDA)
			result = put_agent_facts(&agents->agents[i], facts, batch);
	return result ? result : put_defects(agents, facts, batch);
}

int agents_put_late_facts(struct agents *agents, struct recording_facts *facts, struct batch *batch)
{
	int result = 0;

	for (size_t i = 0; i < agents->count && !result; i++) {
		struct agent *agent = &agents->agents[i];

		if (!agent->report.late || agent->report.outcome == AGENT_NOT_CUDA)
			continue;
		if (agent->taker.pid) {
			agent->target = agent->report.target = &agent->taker;
			result = recording_facts_target(facts, batch, agent->target);
		}
		if (!result)
			result = put_agent_facts(agent, facts, batch);
	}
	return result ? result : put_defects(agents, facts, batch);
}

/* "GPU times of sim-train (4242)": where the ledger says of that place that they are missing, this says why. */
static int put_failure(struct recording_facts *facts, struct batch *batch, u8 group,
		       const char *what, const struct agent *agent, const char *why)
{
	char key[64];

	snprintf(key, sizeof(key), "%s of %s (%u)", what, agent->target->comm, agent->target->pid);
	return recording_facts_attribute(facts, batch, group, key, why);
}

int agents_put_failures(struct agents *agents, struct recording_facts *facts, struct batch *batch)
{
	int result = 0;

	for (size_t i = 0; i < agents->count && !result; i++) {
		const struct agent *agent = &agents->agents[i];
		const struct agent_report *report = &agent->report;

		if (report->outcome == AGENT_REFUSED || report->outcome == AGENT_FAILED)
			result = put_failure(facts, batch, VALUE_attribute_group_failure,
					     "GPU times", agent, report->why);
		if (!result && report->outcome == AGENT_WORKS && *report->nvtx_why)
			result = put_failure(facts, batch, VALUE_attribute_group_failure, "NVTX",
					     agent, report->nvtx_why);
		if (!result && report->outcome == AGENT_WORKS && *report->stacks_why)
			result = put_failure(facts, batch, VALUE_attribute_group_failure,
					     "stacks of launches", agent, report->stacks_why);
		if (!result && report->outcome == AGENT_WORKS && *report->lost_why)
			result = put_failure(facts, batch, VALUE_attribute_group_failure,
					     "GPU work", agent, report->lost_why);
		if (!result && report->outcome == AGENT_WORKS && *report->refused_why)
			result = put_failure(facts, batch, VALUE_attribute_group_failure,
					     "another profiler", agent, report->refused_why);
		if (!result && report->outcome == AGENT_WORKS && *report->others_why)
			result = put_failure(facts, batch, VALUE_attribute_group_remark,
					     "other users of CUPTI", agent, report->others_why);
		if (!result && report->silent)
			result = put_failure(
				facts, batch, VALUE_attribute_group_remark, "GPU work", agent,
				"CUPTI gave not one record: the process called no CUDA "
				"function in the window, or CUPTI does not work in it");
	}
	return result;
}
