/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of threads that run, and how long they did, in a session. */
#include "session/session_parts.h"

/* So many more or fewer are nothing to tell of. */
#define SAMPLES_OF_CHANCE 10

/* Where records of how long threads have run go, and the end of the window. */
struct thread_times {
	struct batch *batch;
	u64 end_ns; /* 0: it goes on */
};

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

/* One that lives on has its life up to the end of the window. */
static int take_thread_time(void *data, const struct record_header *record, size_t size_bytes)
{
	struct record_thread_time time = *(const struct record_thread_time *)record;
	const struct thread_times *times = data;

	if (times->end_ns && time.header.ts + time.header.dur > times->end_ns)
		time.header.dur =
			times->end_ns > time.header.ts ? times->end_ns - time.header.ts : 0;
	return batch_add(times->batch, &time.header);
}

/* Clocks that interrupts keep waiting leave samples out, and so do CPUs that must not be interrupted: what is missing beside what time
 * and chance explain. */
static u64 missed_samples(struct session *session)
{
	struct counters counters;
	u64 cpu_ns, expected, taken;

	if (bpf_source_counters(session->source, &counters))
		return 0;
	cpu_ns = session_cpu_time_ns(session, counters.ended_cpu_ns);
	expected = cpu_ns > session->cpu_start_ns
			   ? (cpu_ns - session->cpu_start_ns) /
				     session->config->settings->sample_period_ns
			   : 0;
	taken = counters.prices[PRICE_SAMPLES].entries;
	return expected > taken + expected / 10 + SAMPLES_OF_CHANCE ? expected - taken : 0;
}

void session_end_samples(struct session *session)
{
	struct thread_times times = {.end_ns = session->window_end_ns};

	if (!session->config->settings->sample_period_ns || session->samples_error.message[0])
		return;
	times.batch = batch_queue_take_empty(session->queue);
	bpf_source_end_samples(session->source, take_thread_time, &times);
	if (!session->samples_ended)
		recording_facts_loss(times.batch, RECORD_SOURCE_BPF,
				     VALUE_loss_reason_samples_missed, session->facts.bpf_place,
				     missed_samples(session));
	session->samples_ended = true;
	batch_queue_put_full(session->queue, times.batch);
}
