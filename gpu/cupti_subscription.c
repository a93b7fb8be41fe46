/* SPDX-License-Identifier: MIT */
#include "cupti_session.h"

#include "cupti_subscription.h"
#include "cupti_users.h"
#include "words.h"

#define SUBSCRIBER_NAME "gpuprobe"
#define NAME_BYTES	128
/* What 13.0 calls a subscriber that came by the older call, without a name. */
#define NO_NAME "<not provided>"

static bool has_name(const char *holder)
{
	const char *none = NO_NAME;

	if (!*holder)
		return false;
	while (*none && *holder == *none)
		holder++, none++;
	return *none;
}

/* The name of who holds it where it is refused, else "". */
static u32 take(struct cupti_session *session, char ret_holder[NAME_BYTES])
{
	const struct cupti_calls *calls = &session->library.calls;
	struct cupti_subscriber parameters = {
		.struct_bytes = session->version >= CUPTI_VERSION_STRUCT_SIZE ? 40 : 32,
		.name = SUBSCRIBER_NAME,
		.old_name = ret_holder,
		.old_name_bytes = NAME_BYTES,
	};
	cupti_api_callback callback = resident_callback(&session->resident);
	u32 result;

	ret_holder[0] = '\0';
	if (calls->Subscribe_v2 && session->version >= CUPTI_VERSION_SUBSCRIBE_V2)
		result = calls->Subscribe_v2(&session->subscriber, callback, NULL, &parameters);
	else
		result = calls->Subscribe(&session->subscriber, callback, NULL);
	ret_holder[NAME_BYTES - 1] = '\0';
	if (result)
		session->subscriber = NULL;
	return result;
}

static void fail_taken(struct cupti_session *session, const struct cupti_users *users,
		       const char *holder)
{
	struct words words = words_begin(session->feature->hint, AGENT_HINT_BYTES);
	const char *name = has_name(holder) ? holder : NULL;

	words_add(&words, "CUPTI is in use");
	if (name || !users->who) {
		words_add(&words, " by ");
		words_add(&words, name ? name : "another tool in the target");
	}
	if (users->who) {
		words_add(&words, name ? " (" : ", most likely by ");
		words_add(&words, users->who);
		words_add(&words, name ? ", most likely)" : "");
	}
	words_add(&words, ", and serves one at a time: ");
	words_add(&words, users->way_out ? users->way_out : "end that one first");
	words_set(session->control->cupti_facts.other_client,
		  sizeof(session->control->cupti_facts.other_client), name ? name : "");
	session->feature->result = CUPTI_TAKEN;
	__atomic_store_n(&session->feature->state, AGENT_FEATURE_IGNORED, __ATOMIC_RELEASE);
}

bool cupti_subscription_begin(struct cupti_session *session)
{
	bool v2 = session->library.calls.Subscribe_v2 &&
		  session->version >= CUPTI_VERSION_SUBSCRIBE_V2;
	struct cupti_users users;
	char holder[NAME_BYTES];
	u32 result;

	cupti_users_find(&users);
	result = take(session, holder);
	if (result == CUPTI_TAKEN)
		fail_taken(session, &users, holder);
	else if (result)
		cupti_session_fail(session, AGENT_FEATURE_FAILED,
				   v2 ? "cuptiSubscribe_v2" : "cuptiSubscribe", result);
	if (result)
		return false;
	session->others_known = users.kineto || users.others;
	session->control->cupti_facts.shared = users.kineto && !users.others;
	if (session->control->cupti_facts.shared)
		cupti_subscription_end(session);
	return true;
}

bool cupti_subscription_regain(struct cupti_session *session)
{
	char holder[NAME_BYTES];

	return session->subscriber || !take(session, holder);
}

void cupti_subscription_end(struct cupti_session *session)
{
	if (session->subscriber)
		session->library.calls.Unsubscribe(session->subscriber);
	session->subscriber = NULL;
}
