/* SPDX-License-Identifier: MIT */
#include "cupti_apis.h"

static u32 switch_number(const struct cupti_session *session, u32 kind, u32 callback, u8 on)
{
	const struct cupti_calls *calls = &session->library.calls;

	return kind == CUPTI_RUNTIME ? calls->ActivityEnableRuntimeApi(callback, on)
				     : calls->ActivityEnableDriverApi(callback, on);
}

static u32 domain_of(u32 kind)
{
	return kind == CUPTI_RUNTIME ? CUPTI_DOMAIN_RUNTIME : CUPTI_DOMAIN_DRIVER;
}

static bool has_numbers(const struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;

	return calls->ActivityEnableRuntimeApi && calls->ActivityEnableDriverApi;
}

u64 cupti_apis_prepare(struct cupti_session *session, u64 wanted)
{
	u32 groups = session->control->cupti.api_groups;

	if (!(wanted & CUPTI_API_KINDS))
		return 0;
	api_calls_resolve(&session->convert.apis, groups, session->convert.callback_name, session);
	if (groups & API_GROUP_BIT(OTHER) || !has_numbers(session))
		return 0;
	session->kinds_by_number = wanted & CUPTI_API_KINDS;
	return session->kinds_by_number;
}

/* How many CUPTI took. */
static u32 switch_set(const struct cupti_session *session, u32 kind, bool listed, u8 on)
{
	u32 taken = 0;

	for (u32 callback = 1; callback < API_CALLS_MAX; callback++)
		if (api_set_has(&session->convert.apis, domain_of(kind), callback) == listed)
			taken += !switch_number(session, kind, callback, on);
	return taken;
}

void cupti_apis_enable(struct cupti_session *session)
{
	static const u8 kinds[] = {CUPTI_DRIVER, CUPTI_RUNTIME};

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		u64 bit = 1ULL << kinds[i];

		if (session->kinds_enabled & bit && has_numbers(session)) {
			/* All of them but a few. Numbers that this version does not have are refused, which does no harm. */
			switch_set(session, kinds[i], false, 0);
		} else if (session->kinds_by_number & bit &&
			   !switch_set(session, kinds[i], true, 1)) {
			session->kinds_by_number &= ~bit;
			if (!session->library.calls.ActivityEnable(kinds[i]))
				session->kinds_enabled |= bit;
		}
	}
}

void cupti_apis_disable(struct cupti_session *session, u64 kinds)
{
	static const u8 api_kinds[] = {CUPTI_DRIVER, CUPTI_RUNTIME};

	for (u32 i = 0; i < ARRAY_SIZE(api_kinds); i++)
		if ((session->kinds_by_number & kinds) >> api_kinds[i] & 1)
			switch_set(session, api_kinds[i], true, 0);
	session->kinds_by_number &= ~kinds;
}
