/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session tells while it runs. */
#include "base/clock.h"
#include "session/session_parts.h"

static u64 losses_of_class(const struct counters *counters, enum schema_loss_class class)
{
	u64 sum = 0;

	for (u32 reason = 0; reason < LOSS_REASONS_MAX; reason++)
		if (schema_loss_class(reason) == class)
			sum += counters->losses[reason];
	return sum;
}

/* Records that did not make it. */
static u64 lost_records(const struct counters *counters)
{
	u64 few = losses_of_class(counters, LOSS_CLASS_FEW);

	return losses_of_class(counters, LOSS_CLASS_RECORDS) +
	       (schema_loss_is_few(few, counters->prices[PRICE_WAITS].entries) ? 0 : few);
}

/* Who reads a capture that was cut has to know of them too. */
static void tell_own_threads(struct session *session)
{
	struct batch *batch;

	if (!own_threads_are_new(&session->own))
		return;
	batch = batch_queue_take_empty(session->queue);
	own_threads_put_facts(&session->own, false, batch);
	batch_queue_put_full(session->queue, batch);
}

void session_status_update(struct session *session)
{
	struct session_status *status = &session->result.status;
	struct counters counters;
	u64 cpu_ns;

	status->elapsed_ns = clock_monotonic_ns() - session->window_start_ns;
	status->duration_ns = session->config->settings->duration_ns;
	status->event_count = drain_event_count(session->drain);
	if (bpf_source_counters(session->source, &counters))
		return;
	cpu_ns = session_cpu_time_ns(session, counters.ended_cpu_ns);
	tell_own_threads(session);
	session_throttled_look(session);
	counters.losses[VALUE_loss_reason_target_exec] = 0; /* counts targets, not records */
	status->lost_count = bpf_source_missed(session->source) +
			     bpf_source_missed_task_events(session->source) +
			     lost_records(&counters);
	session->agents_lost_count = agents_lost(session->result.agents);
	status->lost_count += session->agents_lost_count;
	status->no_duration_count = losses_of_class(&counters, LOSS_CLASS_DURATIONS);
	status->unseen_children = counters.forks;
	status->refused_children = counters.children_refused;
	status->processes = processes_status(session->processes);
	/* A zombie has no CPU time to read any more, and none is added up yet: the last estimate stays. */
	if (cpu_ns > session->cpu_start_ns)
		session_budget_look(session, cpu_ns - session->cpu_start_ns);
}
