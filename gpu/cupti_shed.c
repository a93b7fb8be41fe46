/* SPDX-License-Identifier: MIT */
#include "cupti_shed.h"

#include "cupti_apis.h"
#include "system.h"

static void shed_calls(struct cupti_session *session)
{
	static const u8 kinds[] = {CUPTI_DRIVER, CUPTI_RUNTIME};

	cupti_apis_disable(session, CUPTI_API_KINDS);
	cupti_canary_end(session);
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++)
		if (session->kinds_enabled >> kinds[i] & 1)
			session->library.calls.ActivityDisable(kinds[i]);
	session->kinds_enabled &= ~CUPTI_API_KINDS;
}

void cupti_shed(struct cupti_session *session)
{
	struct agent_control *control = session->control;
	u32 wanted = __atomic_load_n(&control->shed_wanted, __ATOMIC_ACQUIRE);

	if (wanted <= control->shed_done || wanted > AGENT_SHED_ALL)
		return;
	if (wanted == AGENT_SHED_CALLS)
		shed_calls(session);
	else
		cupti_session_disable_kinds(session);
	control->shed_ns = system_now_ns();
	__atomic_store_n(&control->shed_done, wanted, __ATOMIC_RELEASE);
}
