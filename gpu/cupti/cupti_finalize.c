/* SPDX-License-Identifier: MIT */
#include "cupti_finalize.h"

#include "cupti_session.h"
#include "cupti_users.h"
#include "../base/system.h"

#define SITE_EXIT 1 /* CUpti_ApiCallbackSite */

void cupti_finalize_callback(void *data, u32 domain, u32 callback, const void *call,
			     struct cupti_session *session)
{
	/* Of all threads: the target may make the same call just now. */
	if (!session || !session->live || !__atomic_load_n(session->live, __ATOMIC_ACQUIRE) ||
	    !call || *(const u32 *)call != SITE_EXIT || system_tid() != session->tid)
		return;
	/* It would be taken from under somebody who came just now. */
	if (!session->finalize_wanted || cupti_others_came(session))
		return;
	session->finalize_wanted = false;
	/* Subscribed, as in NVIDIA's example of it, and the subscription ends with it: who subscribed between an
	 * end of ours and this call would go on with what it has freed. */
	__atomic_store_n(&session->control->finalizing_ns, system_now_ns(), __ATOMIC_RELEASE);
	session->library.calls.Finalize();
	__atomic_store_n(&session->control->finalizing_ns, 0, __ATOMIC_RELEASE);
	session->finalized = true;
}

const char *cupti_finalize_why_not(const struct cupti_session *session)
{
	struct cupti_users users;

	if (session->several)
		return "is shared with other subscribers";
	if (!session->library.calls.Finalize || !session->control->cupti.take_down)
		return "was not asked to go";
	if (session->version < CUPTI_VERSION_FINALIZE_SAFE)
		return "can crash on being taken down before CUDA 12.6";
	if (session->stacks_stuck && session->resident.data &&
	    __atomic_load_n(&session->resident.data->users, __ATOMIC_ACQUIRE))
		return "is calling the agent, in a thread that does not come back";
	if (session->timestamps_foreign)
		return "serves another tool too";
	cupti_users_find(&users);
	return users.keeper;
}

/* The cheapest call that there is: it needs no context. Callbacks of no other call are switched on. */
bool cupti_finalize(struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	int version;

	if (!session->library.driver_get_version || !calls->EnableCallback ||
	    calls->EnableCallback(1, session->subscriber, CUPTI_DOMAIN_DRIVER,
				  CUPTI_DRIVER_GET_VERSION))
		return false;
	session->finalize_wanted = true;
	session->library.driver_get_version(&version);
	if (session->finalized) {
		session->subscriber = NULL;
		session->control->cupti_facts.given_back_ns = system_now_ns();
		return true;
	}
	session->finalize_wanted = false;
	calls->EnableCallback(0, session->subscriber, CUPTI_DOMAIN_DRIVER,
			      CUPTI_DRIVER_GET_VERSION);
	return false;
}
