/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session's configuration says of its targets, for whoever attaches to them or prices that. */
#include "session/session_parts.h"

struct source_targets session_source_targets(const struct session *session)
{
	const struct session_config *config = session->config;

	return (struct source_targets){config->plan, config->targets, config->target_count,
				       config->single_probes};
}

u32 session_returns(const struct session_config *config)
{
	u32 returns = plan_returns(config->plan);

	return returns ? returns | 1u << VALUE_returns_none : 0;
}
