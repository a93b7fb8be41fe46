/* SPDX-License-Identifier: MIT */
#include "cupti_finalize.h"

#include "cupti_session.h"
#include "cupti_users.h"
#include "system.h"

#define SITE_EXIT 1 /* CUpti_ApiCallbackSite */
/* A target that calls nothing of CUDA for so long is idle. */
#define IDLE_NS	    (50 * NS_PER_MILLISECOND)
#define RUNS_MAX_NS (5 * NS_PER_SECOND)

void cupti_finalize_callback(void *data, u32 domain, u32 callback, const void *call,
			     struct cupti_session *session)
{
	const struct cupti_calls *calls;
	u32 wanted = FINALIZE_WANTED;

	if (!session || !session->live || !__atomic_load_n(session->live, __ATOMIC_ACQUIRE) ||
	    !call)
		return;
	if (*(const u32 *)call != SITE_EXIT) {
		__atomic_store_n(&session->calls_begun, true, __ATOMIC_RELAXED);
		return;
	}
	/* It would be taken from under somebody who came just now. */
	if (cupti_others_came(session))
		return;
	if (!__atomic_compare_exchange_n(&session->finalize, &wanted, FINALIZE_RUNS, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	calls = &session->library.calls;
	/* Subscribed, as in NVIDIA's example of it, and the subscription ends with it: who subscribed between an
	 * end of ours and this call would go on with what it has freed. */
	calls->Finalize();
	__atomic_store_n(&session->finalize, FINALIZE_DONE, __ATOMIC_RELEASE);
	system_wake(&session->finalize);
}

const char *cupti_finalize_why_not(const struct cupti_session *session)
{
	struct cupti_users users;

	if (session->several)
		return "is shared with other subscribers";
	if (!session->library.calls.Finalize || !session->control->cupti.finalize_timeout_ms)
		return "was not asked to go";
	if (session->version < CUPTI_VERSION_FINALIZE_SAFE)
		return "can crash on being taken down before CUDA 12.6";
	if (session->timestamps_foreign)
		return "serves another tool too";
	cupti_users_find(&users);
	return users.keeper;
}

static u32 state_of(const struct cupti_session *session)
{
	return __atomic_load_n(&session->finalize, __ATOMIC_ACQUIRE);
}

/* From here on any thread that returns from a call which we listen to takes CUPTI down. */
static void want(struct cupti_session *session)
{
	__atomic_store_n(&session->finalize, FINALIZE_WANTED, __ATOMIC_RELEASE);
}

/* false: a thread has begun, so that we must not call CUPTI any more. */
static bool take_back(struct cupti_session *session)
{
	u32 wanted = FINALIZE_WANTED;

	return __atomic_compare_exchange_n(&session->finalize, &wanted, FINALIZE_NO, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void wait_until(struct cupti_session *session, u64 end_ns)
{
	u64 now_ns;

	while (state_of(session) == FINALIZE_WANTED && !cupti_others_came(session) &&
	       (now_ns = system_now_ns()) < end_ns)
		system_wait(&session->finalize, FINALIZE_WANTED, end_ns - now_ns);
}

static void listen(const struct cupti_session *session, u32 enable)
{
	const struct cupti_calls *calls = &session->library.calls;

	calls->EnableDomain(enable, session->subscriber, CUPTI_DOMAIN_DRIVER);
	calls->EnableDomain(enable, session->subscriber, CUPTI_DOMAIN_RUNTIME);
}

/* By a call that a thread of the target makes: waited for while there are signs of any. */
static bool by_target(struct cupti_session *session)
{
	u64 begin_ns = system_now_ns();

	session->calls_begun = false;
	listen(session, 1);
	want(session);
	wait_until(session, begin_ns + IDLE_NS);
	if (__atomic_load_n(&session->calls_begun, __ATOMIC_RELAXED))
		wait_until(session, begin_ns + session->control->cupti.finalize_timeout_ms *
						       NS_PER_MILLISECOND);
	if (!take_back(session))
		return true;
	listen(session, 0);
	return false;
}

/* By the cheapest call that there is: it needs no context. */
static bool by_agent(struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	int version;

	if (!session->library.driver_get_version || !calls->EnableCallback ||
	    calls->EnableCallback(1, session->subscriber, CUPTI_DOMAIN_DRIVER,
				  CUPTI_DRIVER_GET_VERSION))
		return false;
	want(session);
	session->library.driver_get_version(&version);
	if (!take_back(session))
		return true;
	calls->EnableCallback(0, session->subscriber, CUPTI_DOMAIN_DRIVER,
			      CUPTI_DRIVER_GET_VERSION);
	return false;
}

/* A thread is in it. It may be waiting for the GPU. */
static bool await_done(struct cupti_session *session)
{
	u64 end_ns = system_now_ns() + RUNS_MAX_NS, now_ns;

	while (state_of(session) != FINALIZE_DONE) {
		now_ns = system_now_ns();
		if (now_ns >= end_ns)
			return false;
		system_wait(&session->finalize, FINALIZE_RUNS, end_ns - now_ns);
	}
	return true;
}

enum cupti_finalized cupti_finalize(struct cupti_session *session)
{
	enum cupti_finalized finalized;

	if (!by_target(session) && !by_agent(session))
		return CUPTI_UP;
	finalized = await_done(session) ? CUPTI_DOWN : CUPTI_STUCK;
	session->subscriber = NULL;
	return finalized;
}
