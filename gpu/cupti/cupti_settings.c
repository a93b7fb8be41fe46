/* SPDX-License-Identifier: MIT */
/* What is set in CUPTI, or put back, in the middle of a recording too. */
#include "cupti_session.h"

#include "cupti_apis.h"
#include "cupti_attributes.h"
#include "cupti_canary.h"
#include "cupti_family.h"

#define UNIFIED_MEMORY_ALL	 2 /* scope: all devices of the process */
#define UNIFIED_MEMORY_LAST_KIND 8

void cupti_session_switch_off(struct cupti_session *session, u64 kinds)
{
	for (u32 kind = 0; kind < AGENT_ACTIVITY_KINDS; kind++)
		if ((session->kinds_enabled & kinds) >> kind & 1)
			cupti_disable(session, kind);
	cupti_apis_disable(session, kinds);
	if (kinds >> CUPTI_DRIVER & 1)
		cupti_canary_end(session);
	session->kinds_enabled &= ~kinds;
}

void cupti_session_zero_no_more(struct cupti_session *session)
{
	if (session->buffers.zeroed)
		cupti_attributes_zero_no_more(&session->library.calls);
	session->buffers.zeroed = false;
}

void cupti_session_keep_clock(struct cupti_session *session)
{
	if (session->timestamps_by_callback)
		resident_tell_realtime(&session->resident);
	session->timestamps_by_callback = false;
}

void cupti_session_count_unified_memory(struct cupti_session *session, u32 enable)
{
	struct cupti_unified_memory configs[UNIFIED_MEMORY_LAST_KIND];
	const struct cupti_calls *calls = &session->library.calls;

	for (u32 i = 0; i < ARRAY_SIZE(configs); i++)
		configs[i] = (struct cupti_unified_memory){UNIFIED_MEMORY_ALL, i + 1, 0, enable};
	/* Not there on every GPU and under every driver: then the kind fails too, and says so. */
	if (calls->ActivityConfigureUnifiedMemoryCounter)
		calls->ActivityConfigureUnifiedMemoryCounter(configs, ARRAY_SIZE(configs));
}

void cupti_session_follow_managed(struct cupti_session *session)
{
	u64 wanted = session->control->cupti.kinds & 1ULL << CUPTI_UNIFIED_MEMORY;

	if (!wanted || session->managed_tried || !session->convert.managed_used)
		return;
	session->managed_tried = true;
	cupti_session_count_unified_memory(session, 1);
	session->managed_result = cupti_enable(session, CUPTI_UNIFIED_MEMORY);
	if (!session->managed_result)
		session->kinds_enabled |= wanted;
}
