/* SPDX-License-Identifier: MIT */
#include "cupti_apis.h"

#include "cupti_family.h"

static u32 domain_of(u32 kind)
{
	return kind == CUPTI_RUNTIME ? CUPTI_DOMAIN_RUNTIME : CUPTI_DOMAIN_DRIVER;
}

u64 cupti_apis_prepare(struct cupti_session *session, u64 wanted)
{
	u32 groups = session->control->cupti.api_groups;

	if (!(wanted & CUPTI_API_KINDS))
		return 0;
	api_calls_resolve(&session->convert.apis, groups, session->convert.callback_name, session);
	if (groups & API_GROUP_BIT(OTHER) || !cupti_can_switch_calls(session))
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
			taken += !cupti_switch_call(session, kind, callback, on);
	return taken;
}

void cupti_apis_enable(struct cupti_session *session)
{
	static const u8 kinds[] = {CUPTI_DRIVER, CUPTI_RUNTIME};

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		u64 bit = 1ULL << kinds[i];

		if (session->kinds_enabled & bit && cupti_can_switch_calls(session)) {
			/* All of them but a few. Numbers that this version does not have are refused, which does no harm. */
			switch_set(session, kinds[i], false, 0);
		} else if (session->kinds_by_number & bit &&
			   !switch_set(session, kinds[i], true, 1)) {
			session->kinds_by_number &= ~bit;
			if (!cupti_enable(session, kinds[i]))
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
