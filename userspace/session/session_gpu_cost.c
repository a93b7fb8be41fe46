/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What agents and CUPTI cost, beside the probes: records at the price that each agent measured, and threads of ours. */
#include "session/session_parts.h"

/* An agent looks ten times a second. */
#define SHED_TIMEOUT_MS 500

void session_gpu_cost_update(struct session *session)
{
	struct session_status *status = &session->result.status;
	struct agents_cost cost;

	if (!session->overhead || !session->result.agents)
		return;
	agents_cost(session->result.agents, &cost);

	const struct gpu_cost_value values[GPU_COSTS] = {
		[GPU_COST_DRIVER_CALLS] = {cost.driver_calls, cost.driver_ns},
		[GPU_COST_RUNTIME_CALLS] = {cost.runtime_calls, cost.runtime_ns},
		[GPU_COST_STACKS] = {cost.stacks, cost.stacks_ns},
		[GPU_COST_OPERATIONS] = {cost.operations, AGENTS_NOT_PRICED},
		[GPU_COST_THREADS] = {session->own.count, own_threads_window_cpu_ns(&session->own)},
	};

	overhead_set_gpu(session->overhead, values);
	status->kernels_not_priced = cost.operations != 0;
	status->calls_not_priced =
		cost.driver_ns == AGENTS_NOT_PRICED || cost.runtime_ns == AGENTS_NOT_PRICED;
	status->beside_percent =
		session->own.count ? overhead_beside_percent(session->overhead) : -1;
	/* For the next time: what has come by now is in buffers of CUPTI. */
	if (session->budget_open && session->config->settings->max_overhead_percent)
		agents_ask_for_records(session->result.agents);
}

const char *session_gpu_shed(struct session *session, u64 *ret_since_ns)
{
	static const char *const names[] = {
		[AGENT_SHED_CALLS] = "the CUDA API", [AGENT_SHED_ALL] = "the GPU"};
	size_t count;
	struct overhead_part *parts = overhead_parts(session->overhead, &count);

	session->shed++;
	*ret_since_ns = agents_shed(session->result.agents, session->shed, SHED_TIMEOUT_MS);
	for (size_t i = 0; i < count; i++) {
		if (parts[i].gpu && !parts[i].switched_off_ns &&
		    (gpu_cost_is_call(parts[i].gpu) || session->shed == AGENT_SHED_ALL))
			parts[i].switched_off_ns = *ret_since_ns;
	}
	return names[session->shed];
}

void session_gpu_cost_put_facts(struct session *session, struct batch *batch)
{
	struct agents_cost cost;

	if (!session->result.agents)
		return;
	agents_cost(session->result.agents, &cost);
	if (cost.driver_call_ns)
		recording_facts_result(&session->facts, batch, "record of a CUDA driver call (ns)",
				       (double)cost.driver_call_ns);
	if (cost.runtime_call_ns)
		recording_facts_result(&session->facts, batch, "record of a CUDA runtime call (ns)",
				       (double)cost.runtime_call_ns);
	if (cost.stacks)
		recording_facts_result(&session->facts, batch,
				       "stack of a call of CUDA, by the agent (ns)",
				       (double)cost.stacks_ns / (double)cost.stacks);
	if (cost.converted)
		recording_facts_result(
			&session->facts, batch,
			"conversion of a record of CUPTI, on the agent's thread (ns)",
			(double)cost.converting_ns / (double)cost.converted);
	if (session->result.status.beside_percent >= 0)
		recording_facts_result(
			&session->facts, batch,
			"threads of the agent and of CUPTI (% of the targets' CPU time)",
			session->result.status.beside_percent);
}
