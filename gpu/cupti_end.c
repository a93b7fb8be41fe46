/* SPDX-License-Identifier: MIT */
/*
 * The way out: kinds off, what there is handed over, the subscription given back. Whether CUPTI itself can be taken
 * down (cuptiFinalize) depends on its version and on the target: it is safe on the way out of a call of CUDA only, so
 * an idle target keeps CUPTI, switched off.
 */
#include "cupti_session.h"

#include "system.h"
#include "words.h"

#define SITE_EXIT	     1 /* CUpti_ApiCallbackSite */
#define BUFFERS_TIMEOUT_MS   2000
#define BUFFERS_PAUSE_MS     50
#define THREADS_TIMEOUT_MS   2000
#define ATTRIBUTE_PER_THREAD 9

/* On an application's thread, between a call of CUDA and its return. */
void cupti_end_callback(void *data, u32 domain, u32 callback, const void *call,
			struct cupti_session *session)
{
	const struct cupti_calls *calls;
	u32 wanted = FINALIZE_WANTED;

	if (!session || !__atomic_load_n(session->live, __ATOMIC_ACQUIRE))
		return;
	if (!call || *(const u32 *)call != SITE_EXIT ||
	    !__atomic_compare_exchange_n(&session->finalize, &wanted, FINALIZE_RUNS, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	calls = &session->library.calls;
	calls->Unsubscribe(session->subscriber);
	calls->Finalize();
	__atomic_store_n(&session->finalize, FINALIZE_DONE, __ATOMIC_RELEASE);
	system_wake(&session->finalize);
}

static void disable_kinds(struct cupti_session *session)
{
	for (u32 kind = 0; kind < AGENT_ACTIVITY_KINDS; kind++)
		if (session->kinds_enabled >> kind & 1)
			session->library.calls.ActivityDisable(kind);
	session->kinds_enabled = 0;
}

/* What CUPTI still has, even what is not complete. */
static void drain(struct cupti_session *session)
{
	u64 end_ns = system_now_ns() + BUFFERS_TIMEOUT_MS * NS_PER_MILLISECOND;

	do {
		u32 seen = __atomic_load_n(&session->buffers.full_count, __ATOMIC_ACQUIRE);

		session->library.calls.ActivityFlushAll(FLUSH_FORCED);
		cupti_session_convert(session);
		if (!cupti_buffers_out(&session->buffers))
			break;
		system_wait(&session->buffers.full_count, seen,
			    BUFFERS_PAUSE_MS * NS_PER_MILLISECOND);
	} while (system_now_ns() < end_ns);
	cupti_session_convert(session);
	cupti_session_count_dropped(session);
}

void cupti_session_hand_over(struct cupti_session *session)
{
	if (session && session->subscriber)
		drain(session);
}

static const char *why_not_finalize(const struct cupti_session *session)
{
	if (!session->library.calls.Finalize || !session->control->cupti.finalize_timeout_ms)
		return "was not asked to";
	if (session->version < CUPTI_VERSION_FINALIZE_SAFE)
		return "can crash on it before CUDA 12.6";
	if (session->timestamps_foreign)
		return "serves another tool too";
	return NULL;
}

/* true: CUPTI is down. Else it is switched off, and stays. */
static bool finalize(struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	u64 end_ns =
		system_now_ns() + session->control->cupti.finalize_timeout_ms * NS_PER_MILLISECOND;
	u32 wanted = FINALIZE_WANTED;
	u64 now_ns;

	__atomic_store_n(&session->finalize, FINALIZE_WANTED, __ATOMIC_RELEASE);
	calls->EnableDomain(1, session->subscriber, CUPTI_DOMAIN_DRIVER);
	calls->EnableDomain(1, session->subscriber, CUPTI_DOMAIN_RUNTIME);
	while ((now_ns = system_now_ns()) < end_ns &&
	       __atomic_load_n(&session->finalize, __ATOMIC_ACQUIRE) == FINALIZE_WANTED)
		system_wait(&session->finalize, FINALIZE_WANTED, end_ns - now_ns);
	if (__atomic_compare_exchange_n(&session->finalize, &wanted, FINALIZE_NO, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		calls->EnableDomain(0, session->subscriber, CUPTI_DOMAIN_DRIVER);
		calls->EnableDomain(0, session->subscriber, CUPTI_DOMAIN_RUNTIME);
		return false;
	}
	/* A thread is in it: that ends. */
	while (__atomic_load_n(&session->finalize, __ATOMIC_ACQUIRE) != FINALIZE_DONE)
		system_wait(&session->finalize, FINALIZE_RUNS, NS_PER_SECOND);
	session->subscriber = NULL;
	return true;
}

/* CUPTI as it was, as far as it lets us. */
static void restore(struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	size_t bytes = sizeof(u8);
	u8 on = 1;

	if (session->per_thread_was_on)
		calls->ActivitySetAttribute(ATTRIBUTE_PER_THREAD, &bytes, &on);
	if (session->control->cupti.latency_timestamps && calls->ActivityEnableLatencyTimestamps)
		calls->ActivityEnableLatencyTimestamps(0);
	if (calls->ActivityFlushPeriod)
		calls->ActivityFlushPeriod(0);
}

/* What stays, and why. */
static void stop(struct cupti_session *session, struct words *words)
{
	const char *why_not = why_not_finalize(session);

	disable_kinds(session);
	drain(session);
	restore(session);
	if (!why_not && finalize(session)) {
		words_add(words, "CUPTI was taken down");
	} else {
		words_add(words, "CUPTI stays in the target, switched off: it ");
		words_add(words, why_not ? why_not
					 : "called no CUDA function on whose return "
					   "CUPTI can be taken down");
	}
	if (session->subscriber)
		session->library.calls.Unsubscribe(session->subscriber);
	session->subscriber = NULL;
}

static void release(struct cupti_session *session)
{
	/* Our reference only; one that we loaded is never unloaded: CUPTI leaves pointers into itself behind. */
	if (session->library.handle && !session->library.loaded_by_us)
		session->loader.close(session->library.handle);
	texts_close(session->convert.texts);
	streams_close(session->convert.streams);
	instructions_close(session->convert.instructions);
	system_unmap(session, sizeof(*session));
}

enum cupti_left cupti_session_end(struct cupti_session *session, char *hint)
{
	char nowhere[AGENT_HINT_BYTES];
	struct words words = words_begin(hint ? hint : nowhere, AGENT_HINT_BYTES);
	enum cupti_left left = CUPTI_LEFT_NOTHING;

	if (!session)
		return left;
	if (session->subscriber)
		stop(session, &words);
	if (session->resident.data) {
		left = CUPTI_LEFT_PAGES;
		if (!resident_disconnect(&session->resident, THREADS_TIMEOUT_MS)) {
			words_add(&words, "; a thread of the target is still inside the agent");
			return CUPTI_LEFT_THREAD;
		}
		words_add(&words, words.length_bytes ? "; " : "");
		words_add(&words, "8 KiB (memfd:gpuprobe-resident) stay for callbacks to land on");
	}
	if (!cupti_buffers_close(&session->buffers))
		words_add(&words, "; CUPTI has not given all its buffers back: they stay mapped");
	release(session);
	return left;
}
