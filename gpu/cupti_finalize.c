/* SPDX-License-Identifier: MIT */
#include "cupti_finalize.h"

#include "cupti_session.h"
#include "system.h"

#define SITE_EXIT	     1 /* CUpti_ApiCallbackSite */
#define CALLBACK_GET_VERSION 2 /* CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion */
/* A target that calls nothing of CUDA for so long is idle. */
#define IDLE_NS (50 * NS_PER_MILLISECOND)

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
	calls->Unsubscribe(session->subscriber);
	calls->Finalize();
	__atomic_store_n(&session->finalize, FINALIZE_DONE, __ATOMIC_RELEASE);
	system_wake(&session->finalize);
}

static const char *keeper(void)
{
	static const struct {
		const char *file, *words;
	} keepers[] = {
#define KEEPER(file, name) {file, "is kept for " name ", which may use it at any time"},
#include "cupti_keepers.def"
#undef KEEPER
	};

	for (u32 i = 0; i < ARRAY_SIZE(keepers); i++) {
		struct loader_match match = {.prefix = keepers[i].file};

		loader_match(&match);
		if (match.count)
			return keepers[i].words;
	}
	return NULL;
}

const char *cupti_finalize_why_not(const struct cupti_session *session)
{
	if (!session->library.calls.Finalize || !session->control->cupti.finalize_timeout_ms)
		return "was not asked to go";
	if (session->version < CUPTI_VERSION_FINALIZE_SAFE)
		return "can crash on being taken down before CUDA 12.6";
	if (session->timestamps_foreign)
		return "serves another tool too";
	return keeper();
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
				  CALLBACK_GET_VERSION))
		return false;
	want(session);
	session->library.driver_get_version(&version);
	if (!take_back(session))
		return true;
	calls->EnableCallback(0, session->subscriber, CUPTI_DOMAIN_DRIVER, CALLBACK_GET_VERSION);
	return false;
}

bool cupti_finalize(struct cupti_session *session)
{
	if (!by_target(session) && !by_agent(session))
		return false;
	/* A thread is in it: that ends. */
	while (state_of(session) != FINALIZE_DONE)
		system_wait(&session->finalize, FINALIZE_RUNS, NS_PER_SECOND);
	session->subscriber = NULL;
	return true;
}
