/* SPDX-License-Identifier: MIT */
#include "cupti_shed.h"

#include "cupti_apis.h"
#include "cupti_stacks.h"
#include "../base/system.h"

void cupti_shed(struct cupti_session *session)
{
	struct agent_control *control = session->control;
	u32 wanted = __atomic_load_n(&control->shed_wanted, __ATOMIC_ACQUIRE);

	if (wanted <= control->shed_done || wanted > AGENT_SHED_ALL)
		return;
	/* Without the calls nothing is left whose they are. */
	cupti_stacks_end(session);
	if (wanted == AGENT_SHED_CALLS)
		cupti_session_switch_off(session, CUPTI_API_KINDS);
	else
		cupti_session_disable_kinds(session);
	control->shed_ns = system_now_ns();
	__atomic_store_n(&control->shed_done, wanted, __ATOMIC_RELEASE);
}
