/* SPDX-License-Identifier: MIT */
/* The driver of a recording by CUPTI, on the agent's thread: what a tick does, and how all begins. */
#include "cupti_session.h"

#include "cupti_family.h"
#include "cupti_price.h"
#include "cupti_shed.h"
#include "cupti_subscription.h"
#include "../base/system.h"
#include "../base/worker_names.h"

#define DEVICES_ASKED_MAX 10

/* Records name a GPU of which CUPTI has not told yet: it had none to tell of before the target started CUDA. */
static void ask_for_devices(struct cupti_session *session)
{
	u64 missing = session->convert.devices_used & ~session->convert.devices_told;

	if (!missing || session->devices_asked == DEVICES_ASKED_MAX)
		return;
	session->devices_asked++;
	cupti_enable_and_dump(session, CUPTI_DEVICE);
}

static void flush(struct cupti_session *session, u64 now_ns)
{
	struct agent_control *control = session->control;
	u32 wanted = __atomic_load_n(&control->flush_wanted, __ATOMIC_ACQUIRE);
	u64 period_ns = control->cupti.flush_period_ms * NS_PER_MILLISECOND, flushed_ns;

	if (wanted == __atomic_load_n(&control->flush_done, __ATOMIC_RELAXED) &&
	    (!period_ns || now_ns - session->flushed_ns < period_ns))
		return;
	ask_for_devices(session);
	cupti_canary_call(session, now_ns);
	/* cuptiActivityFlushPeriod hands over full buffers only: an idle target's would stay. */
	cupti_session_flush(session, 0);
	flushed_ns = system_now_ns();
	cupti_session_convert(session);
	cupti_session_count_dropped(session);
	cupti_others_judge(session, now_ns);
	session->flushed_ns = now_ns;
	/* Where threads share buffers, one is kept back as long as a kernel runs whose record is to go there: then nobody knows. */
	if (session->canary.on)
		cupti_others_flushed(session, now_ns, flushed_ns);
	__atomic_store_n(&control->flush_done, wanted, __ATOMIC_RELEASE);
}

static void follow_clock(struct cupti_session *session, u64 now_ns)
{
	if (!session->clock.fitted || now_ns - session->clock_ns < NS_PER_SECOND)
		return;
	clock_take_point(&session->clock, cupti_session_read_clock, session);
	session->control->cupti_facts.fit_residual_ns = session->clock.residual_ns;
	session->clock_ns = now_ns;
}

void cupti_session_tick(struct cupti_session *session, u64 timeout_ns)
{
	u32 seen = __atomic_load_n(&session->control->bell, __ATOMIC_ACQUIRE);
	u64 now_ns = system_now_ns();
	struct worker_names names;

	if (session->feature->state == AGENT_FEATURE_READY && cupti_others_look(session)) {
		/* What CUPTI has handed to us is ours. */
		cupti_session_convert(session);
		if (session->registered) {
			cupti_others_flush(session, now_ns);
			cupti_others_withdraw(session, 0);
			timeout_ns = cupti_others_timeout(session, timeout_ns);
			/* It keeps others out for nothing by now. */
			if (session->others.down || session->others.withdrawn)
				cupti_subscription_end(session);
		}
	} else if (session->feature->state == AGENT_FEATURE_READY) {
		worker_names_begin(&names);
		follow_clock(session, now_ns);
		cupti_subscription_follow(session);
		cupti_session_convert(session);
		cupti_shed(session);
		if (session->control->shed_done != AGENT_SHED_ALL)
			cupti_session_follow_managed(session);
		cupti_buffers_prepare(&session->buffers);
		flush(session, now_ns);
		worker_names_end(&names);
	}
	system_wait_shared(&session->control->bell, seen, timeout_ns);
}

void cupti_session_take_over(struct cupti_session *session)
{
	session->tid = system_tid();
	if (session->feature->state == AGENT_FEATURE_READY)
		cupti_price_measure(session);
}

void *cupti_session_library(const struct cupti_session *session)
{
	return session ? session->library.handle : NULL;
}

void cupti_session_wake(struct cupti_session *session)
{
	if (session)
		system_wake_shared(&session->control->bell);
}

static const char *callback_name(void *data, u32 domain, u32 callback)
{
	struct cupti_session *session = data;
	const char *name = NULL;

	if (session->others.down || session->library.calls.GetCallbackName(domain, callback, &name))
		return NULL;
	return name;
}

static const char *string_at(void *data, u64 address)
{
	return (const char *)address;
}

struct cupti_session *cupti_session_begin(const struct cupti_session_config *config)
{
	struct cupti_session *session = system_map(sizeof(*session));

	if (!session)
		return NULL;
	session->control = config->control;
	session->feature = &config->control->features[AGENT_FEATURE_CUPTI];
	session->writer = config->writer;
	session->loader = *config->loader;
	session->live = config->live;
	session->tid = system_tid();
	session->convert = (struct cupti_convert){
		.control = config->control,
		.writer = config->writer,
		.texts = texts_open(config->control->cupti.texts_max, config->now_ns),
		.streams = streams_open(system_pid(), config->now_ns),
		.instructions = instructions_open(system_pid(), config->now_ns),
		.clock = &session->clock,
		.pid = system_pid(),
		.fact_ns = config->now_ns,
		.callback_name = callback_name,
		.string_at = string_at,
		.data = session,
	};
	if (!session->convert.texts || !session->convert.streams ||
	    !session->convert.instructions ||
	    cupti_buffers_open(&session->buffers, config->control)) {
		cupti_session_end(session, NULL);
		return NULL;
	}
	cupti_session_start(session);
	/* It may be a thread of the target's, which goes its own way now: what CUPTI hands back on it is not converted there. */
	session->tid = 0;
	return session;
}
