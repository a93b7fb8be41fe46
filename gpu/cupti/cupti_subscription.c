/* SPDX-License-Identifier: MIT */
#include "cupti_session.h"

#include "cupti_subscription.h"
#include "cupti_family.h"
#include "cupti_stacks.h"
#include "cupti_users.h"
#include "../base/system.h"
#include "../base/words.h"

#define SUBSCRIBER_NAME "gpuprobe"
#define NAME_BYTES	128
/* What 13.0 and later put before a subscriber's name, and call one that came by the older call, without a name. */
#define NAME_BEGINS "CUPTI for "
#define NO_NAME	    "<not provided>"

/* NULL: it has none. */
static const char *name_of(const char *holder)
{
	if (words_begin_with(holder, NAME_BEGINS))
		holder += sizeof(NAME_BEGINS) - 1;
	return *holder && !words_begin_with(holder, NO_NAME) ? holder : NULL;
}

static u32 subscribe_new(const struct cupti_session *session, bool several, void **ret_subscriber,
			 char ret_holder[NAME_BYTES])
{
	struct cupti_subscriber parameters = {
		.struct_bytes = several ? 40 : 32,
		.name = SUBSCRIBER_NAME,
		.old_name = ret_holder,
		.old_name_bytes = NAME_BYTES,
		.allow_multiple = several,
	};
	u32 result;

	ret_holder[0] = '\0';
	result = session->library.calls.Subscribe_v2(
		ret_subscriber, resident_callback(&session->resident), NULL, &parameters);
	ret_holder[NAME_BYTES - 1] = '\0';
	return result;
}

/* The older call does not tell. With 32 bytes the newer one decides nothing for others. */
static void ask_who(const struct cupti_session *session, char ret_holder[NAME_BYTES])
{
	void *subscriber;

	if (session->version < CUPTI_VERSION_SUBSCRIBE_V2 || !session->library.calls.Subscribe_v2)
		return;
	/* It left in between. */
	if (!subscribe_new(session, false, &subscriber, ret_holder))
		session->library.calls.Unsubscribe(subscriber);
}

/* The name of who holds it where it is refused and known, else "". */
static u32 take(struct cupti_session *session, char ret_holder[NAME_BYTES])
{
	u32 result;

	ret_holder[0] = '\0';
	session->control->cupti_facts.held_ns = system_now_ns();
	if (session->several)
		result = subscribe_new(session, true, &session->subscriber, ret_holder);
	else
		result = session->library.calls.Subscribe(
			&session->subscriber, resident_callback(&session->resident), NULL);
	if (result == CUPTI_TAKEN && !session->several)
		ask_who(session, ret_holder);
	if (result) {
		session->subscriber = NULL;
		session->control->cupti_facts.held_ns = 0;
	}
	return result;
}

static void ignore(struct cupti_session *session, u32 result, const char *name)
{
	words_set(session->control->cupti_facts.other_client,
		  sizeof(session->control->cupti_facts.other_client), name ? name : "");
	session->feature->result = result;
	__atomic_store_n(&session->feature->state, AGENT_FEATURE_IGNORED, __ATOMIC_RELEASE);
}

void cupti_subscription_fail_family(struct cupti_session *session)
{
	struct words words = words_begin(session->feature->hint, AGENT_HINT_BYTES);
	struct cupti_users users;

	cupti_users_find(&users);
	words_add(&words, "CUPTI is in use, most likely by ");
	words_add(&words, users.who ? users.who : "another tool in the target");
	words_add(&words, session->several ? ", by its functions without subscribers"
					   : ", by its functions with subscribers");
	words_add(&words, ", beside which CUPTI refuses the others: ");
	words_add(&words, users.way_out ? users.way_out : "end that one first");
	ignore(session, CUPTI_OTHER_FAMILY, NULL);
}

static void fail_taken(struct cupti_session *session, const struct cupti_users *users,
		       const char *holder)
{
	struct words words = words_begin(session->feature->hint, AGENT_HINT_BYTES);
	const char *name = name_of(holder);

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
	ignore(session, CUPTI_TAKEN, name);
}

void cupti_subscription_give_way(struct cupti_session *session)
{
	struct cupti_users users;

	cupti_users_find(&users);
	cupti_subscription_end(session);
	fail_taken(session, &users, "");
}

/* Where all who may come live with that none is held. */
static void share(struct cupti_session *session, const struct cupti_users *users)
{
	session->control->cupti_facts.shared = users->kineto && !users->others && !session->several;
	if (!session->control->cupti_facts.shared)
		return;
	/* It holds for everybody's buffers. */
	cupti_session_zero_no_more(session);
	cupti_subscription_end(session);
}

/*
 * The family of who is there. Who shares CUPTI at this moment refuses the call of old, and one of the new family would shut out who
 * calls the others later: so that comes first where they may.
 */
static u32 take_in_a_family(struct cupti_session *session, const struct cupti_users *users,
			    char ret_holder[NAME_BYTES])
{
	bool can_share = cupti_family_serves_several(session);
	u32 result;

	session->several = can_share && session->control->cupti.shared_by_others && !users->kineto;
	result = take(session, ret_holder);
	if (result == CUPTI_TAKEN && can_share && !session->several) {
		session->several = true;
		result = take(session, ret_holder);
	}
	session->control->cupti_facts.several = session->several;
	return result;
}

bool cupti_subscription_begin(struct cupti_session *session)
{
	struct cupti_users users;
	char holder[NAME_BYTES];
	u32 result;

	if (cupti_family_is_shut_out(session)) {
		cupti_subscription_fail_family(session);
		return false;
	}
	cupti_users_find(&users);
	result = take_in_a_family(session, &users, holder);
	if (result == CUPTI_TAKEN)
		fail_taken(session, &users, holder);
	else if (result)
		cupti_session_fail(session, AGENT_FEATURE_FAILED,
				   session->several ? "cuptiSubscribe_v2" : "cuptiSubscribe",
				   result);
	if (result)
		return false;
	session->others_known = users.kineto || users.others;
	share(session, &users);
	return true;
}

void cupti_subscription_follow(struct cupti_session *session)
{
	struct cupti_users users;
	u32 libraries =
		__atomic_load_n(&session->control->cupti_others.libraries, __ATOMIC_ACQUIRE);

	if (!session->subscriber || session->several || libraries == session->libraries)
		return;
	session->libraries = libraries;
	cupti_users_find(&users);
	share(session, &users);
	if (!session->subscriber)
		cupti_stacks_lose(session);
}

void cupti_subscription_end(struct cupti_session *session)
{
	if (!session->subscriber)
		return;
	cupti_stacks_end(session);
	/* A call of it would start anew what was taken down. */
	if (!session->others.down)
		session->library.calls.Unsubscribe(session->subscriber);
	session->subscriber = NULL;
	session->control->cupti_facts.given_back_ns = system_now_ns();
}
