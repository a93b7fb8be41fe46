/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session says of itself: its facts when it begins, and at the end what was open then, what was lost and what failed. */
#include <stdio.h>
#include <string.h>

#include "cuda/gpu_target.h"
#include "plan/plan_usdt.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/version.h"
#include "session/memory_accounts.h"
#include "collect/bpf/open_returns.h"
#include "session/processes.h"
#include "session/session_parts.h"
#include "collect/bpf/usdt_facts.h"

/* ---- the first ---- */

int session_put_first_facts(struct session *session, struct batch *batch)
{
	const struct session_config *config = session->config;
	const struct recording_settings *settings = config->settings;
	int result = recording_facts_attribute(&session->facts, batch, VALUE_attribute_group_tool,
					       "version", version_text());

	if (!result)
		result = recording_facts_host(&session->facts, batch);
	for (size_t i = 0; i < settings->option_count && !result; i++)
		result = recording_facts_attribute(
			&session->facts, batch, VALUE_attribute_group_option,
			settings->options[i].name, settings->options[i].value);
	for (size_t i = 0; i < config->target_count && !result; i++)
		result = recording_facts_target(&session->facts, batch, &config->targets[i]);
	if (!result)
		result = processes_put_names(session->processes, batch);
	if (!result)
		result = recording_facts_plan(&session->facts, batch, config->plan);
	if (!result)
		result = code_facts_put(&session->code, &session->facts, batch);
	if (!result)
		result = usdt_facts_put(&session->facts, batch, config->plan);
	if (!result)
		result = memory_accounts_put_facts(session->source, config->plan, &session->facts,
						   batch);
	if (!result && config->heap_plan)
		result = heap_counts_put_names(config->heap_plan, config->plan->function_count,
					       batch);
	if (!result && session_takes_stacks(config))
		result = recording_facts_bpf_names(batch);
	if (!result && session->result.agents)
		result = agents_put_facts(session->result.agents, &session->facts, batch);
	return result;
}

/* ---- the last ---- */

struct open_calls {
	struct session *session;
	struct batch *batch;
	u64 count;
};

static int take_open_call(void *data, const struct record_header *record, size_t size_bytes)
{
	const struct record_call *call = (const struct record_call *)record;
	struct open_calls *calls = data;
	int counted = function_counts_take_open(&calls->session->counts, call);

	if (call->ended == VALUE_call_ended_open)
		calls->count++;
	return counted ? counted : batch_add(calls->batch, record);
}

static int take_open_usdt_span(void *data, const struct record_header *record, size_t size_bytes)
{
	_Alignas(8) u8 copy[sizeof(struct record_usdt_span) + USDT_ARGS_BYTES];
	struct record_header *span = (struct record_header *)copy;
	struct open_calls *calls = data;

	if (record->size_bytes > sizeof(copy))
		return 0;
	memcpy(copy, record, record->size_bytes);
	calls->count++;
	session_budget_end_span(calls->session, PRICE_USDT, span);
	return batch_add(calls->batch, span);
}

static int take_open_wait(void *data, const struct record_header *record, size_t size_bytes)
{
	struct record_off_cpu wait = *(const struct record_off_cpu *)record;
	struct open_calls *calls = data;

	calls->count++;
	if (wait.ended == VALUE_off_cpu_ended_unseen)
		session_budget_end_span(calls->session, PRICE_WAITS, &wait.header);
	return batch_add(calls->batch, &wait.header);
}

static int take_record(void *data, const struct record_header *record, size_t size_bytes)
{
	return batch_add(data, record);
}

/* What was summed by stack, and what the processes have now. */
static void put_growth(struct session *session, struct batch *batch)
{
	if (!session->config->settings->growth)
		return;
	bpf_source_take_growth(session->source, session->window_start_ns,
			       session_budget_end_ns(session, PRICE_GROWTH) -
				       session->window_start_ns,
			       take_record, batch);
	process_memory_read(&session->memory, session->window_end_ns, take_record, batch);
}

/* Where sizes of matrices are read out of objects, and it is not sure that these are as they are known. */
static void put_libraries(struct session *session, struct batch *batch)
{
	const struct plan *plan = session->config->plan;

	for (size_t i = 0; i < plan->library_count; i++) {
		struct text text _cleanup_text_ = {0};

		if (plan->libraries[i].verdict == CUBLASLT_SAME)
			continue;
		plan_library_tell(plan, &plan->libraries[i], &text);
		recording_facts_attribute(&session->facts, batch, VALUE_attribute_group_remark,
					  "sizes of matrices", text_string(&text));
	}
}

/* What the ledger has no number for. Best effort. */
static void put_failures(struct session *session, struct batch *batch)
{
	const struct session_result *result = &session->result;
	double seconds =
		(double)(session->window_end_ns - session->window_start_ns) / NS_PER_SECOND;
	char text[64], changed[sizeof(result->status.changes.first) + sizeof(text)];

	if (result->agents)
		agents_put_failures(result->agents, &session->facts, batch);
	snprintf(text, sizeof(text), "%zu were refused by the kernel",
		 result->status.refused_count);
	if (result->status.refused_count)
		recording_facts_attribute(&session->facts, batch, VALUE_attribute_group_failure,
					  "probes", text);
	if (session->samples_error.message[0])
		recording_facts_attribute(&session->facts, batch, VALUE_attribute_group_failure,
					  "samples", session->samples_error.message);
	if (session->pythons.refused_count)
		recording_facts_attribute(&session->facts, batch, VALUE_attribute_group_failure,
					  "functions of Python",
					  session->pythons.refused_first.message);
	if (result->status.changes.count) {
		snprintf(changed, sizeof(changed), "%zu were left out: %s",
			 result->status.changes.count, result->status.changes.first);
		recording_facts_attribute(&session->facts, batch, VALUE_attribute_group_failure,
					  "probes of changed code", changed);
	}
	snprintf(text, sizeof(text), "all had ended after %.3f s", seconds);
	put_libraries(session, batch);
	/* A command is recorded to its end. */
	if (result->end == SESSION_TARGETS_ENDED && session->config->settings->targets_named)
		recording_facts_attribute(&session->facts, batch, VALUE_attribute_group_remark,
					  "targets", text);
}

static void put_lost_stacks(struct session *session, struct batch *batch)
{
	recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_walks_refused,
			     session->facts.bpf_place, session->result.status.walks_refused);
	recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_python_refused,
			     session->facts.bpf_place, session->pythons.refused_count);
	recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_unwind_full,
			     session->facts.bpf_place,
			     session->unwinding ? unwinding_left_out(session->unwinding) : 0);
}

/* Which processes had mapped the driver of CUDA: agents tell for which of them they were too late. */
static void note_drivers(struct session *session)
{
	const struct code_map *map = &session->code.map;
	_cleanup_map_ struct map noted = {0};

	for (size_t i = 0; i < map->count; i++) {
		const struct code_mapping *mapping = &map->mappings[i];

		if (!gpu_target_is_driver(mapping->path) || map_find(&noted, mapping->pid, 0) ||
		    !code_map_is_own(map, mapping))
			continue;
		(void)map_set(&noted, mapping->pid, 0, 1);
		agents_note_driver(session->result.agents, mapping->pid);
	}
}

static void put_agents(struct session *session, struct batch *batch)
{
	struct record_source agents;

	if (!session->result.agents)
		return;
	note_drivers(session);
	agents = agents_source(session->result.agents);
	agents_put_late_facts(session->result.agents, &session->facts, batch);
	agents.add_losses(agents.data, batch);
}

void session_put_last_facts(struct session *session, struct batch *batch)
{
	struct open_calls calls = {session, batch, 0}, waits = {session, batch, 0};
	struct session_status *status = &session->result.status;
	struct counters counters;

	bpf_source_open_calls(session->source, take_open_call, &calls, NULL);
	if (session->config->plan->usdt_count)
		bpf_source_open_usdt_spans(session->source, take_open_usdt_span, &calls);
	/* Counts those whose end was not seen. */
	if (session->config->settings->off_cpu)
		bpf_source_open_off_cpu(session->source, take_open_wait, &waits);
	bpf_record_source_add_losses(&session->records, calls.count, batch);
	if (session->config->settings->off_cpu)
		bpf_source_short_waits(session->source, take_record, batch);
	function_counts_put(&session->counts, session->source, session->window_start_ns,
			    session->window_end_ns - session->window_start_ns, batch);
	put_growth(session, batch);
	if (session->config->heap_plan)
		heap_counts_put_sums(&session->heap, session->window_start_ns,
				     session_budget_end_ns(session, PRICE_HEAP), batch);
	put_agents(session, batch);
	put_failures(session, batch);
	recording_facts_window(batch, session->window_start_ns,
			       session->window_end_ns - session->window_start_ns);
	/* What others kept from the targets stands beside what recording did. */
	session_throttled_put(session, batch);
	session_budget_put_facts(session, batch);
	own_threads_put_facts(&session->own, true, batch);
	if (!bpf_source_counters(session->source, &counters)) {
		recording_facts_result(&session->facts, batch,
				       "hits in processes that are not recorded",
				       counters.strangers);
		recording_facts_result(&session->facts, batch,
				       "forked children that carry the probes unseen",
				       counters.forks);
		recording_facts_result(&session->facts, batch, "stacks walked by unwind tables",
				       counters.walked_stacks);
	}
	/* Best effort. */
	(void)processes_put_titles(session->processes, &session->facts, batch);
	processes_put_results(&status->processes, status->refused_children, &session->facts, batch);
	recording_facts_result(&session->facts, batch, "return addresses put back at the end",
			       status->open_returns.put_back_count);
	recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_return_left,
			     session->facts.bpf_place, status->open_returns.left_count);
	recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_single_stepped,
			     session->facts.bpf_place, session->config->plan->stepped_count);
	recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_code_changed,
			     session->facts.bpf_place, status->changes.count);
	recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_patch_repaired,
			     session->facts.bpf_place, session->repaired_count);
	put_lost_stacks(session, batch);
	recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_write_failed,
			     session->facts.bpf_place, session->unstored_count);
	status->event_count += calls.count + waits.count;
	status->open_wait_count = waits.count;
}
