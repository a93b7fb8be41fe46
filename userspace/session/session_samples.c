/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of threads that run, and how long they did, in a session. */
#include "probe/cpu_clock.h"
#include "session/session_parts.h"

/* Nobody asked for them by name: a machine that does not let us is no reason not to record. */
int session_attach_samples(struct session *session, struct err *err)
{
	const struct recording_settings *settings = session->config->settings;
	int result = settings->sample_period_ns
			     ? bpf_source_attach_samples(session->source, &session->samples_error)
			     : 0;

	/* A thread that ended meanwhile is no failure, and may have left its words. */
	if (!result)
		session->samples_error = (struct err){0};
	if (result && settings->samples_asked)
		return err_set(err, result, "%s", session->samples_error.message);
	return 0;
}

static int take_thread_time(void *data, const struct record_header *record, size_t size_bytes)
{
	return batch_add(data, record);
}

static u64 missed_samples(struct session *session)
{
	struct counters counters;
	u64 cpu_ns;

	if (bpf_source_counters(session->source, &counters))
		return 0;
	cpu_ns = session_cpu_time_ns(session, counters.ended_cpu_ns);
	return cpu_clock_missed(cpu_ns > session->cpu_start_ns ? cpu_ns - session->cpu_start_ns : 0,
				session->config->settings->sample_period_ns,
				counters.prices[PRICE_SAMPLES].entries);
}

void session_end_samples(struct session *session)
{
	struct batch *batch;

	if (!session->config->settings->sample_period_ns || session->samples_error.message[0])
		return;
	batch = batch_queue_take_empty(session->queue);
	bpf_source_end_samples(session->source, session->window_end_ns, take_thread_time, batch);
	if (!session->samples_ended)
		recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_samples_missed,
				     session->facts.bpf_place, missed_samples(session));
	session->samples_ended = true;
	batch_queue_put_full(session->queue, batch);
}
