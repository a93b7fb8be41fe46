/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often the cgroups of the targets kept them from running in the window. Read at each tick: who ends has no cgroup any more. */
#include <stdio.h>
#include <stdlib.h>

#include "process/throttled.h"
#include "session/session_parts.h"

struct session_throttled {
	struct throttled first, last;
};

void session_throttled_look(struct session *session)
{
	const struct session_config *config = session->config;
	bool begins = !session->throttled;

	if (begins)
		session->throttled = calloc(config->target_count + 1, sizeof(*session->throttled));
	for (size_t i = 0; session->throttled && i < config->target_count; i++) {
		struct throttled now = throttled_read(config->targets[i].pid);

		if (begins)
			session->throttled[i].first = now;
		if (now.times >= session->throttled[i].last.times)
			session->throttled[i].last = now;
	}
}

void session_throttled_put(struct session *session, struct batch *batch)
{
	for (size_t i = 0; session->throttled && i < session->config->target_count; i++) {
		const struct session_throttled *one = &session->throttled[i];
		u64 times = one->last.times - one->first.times;
		char pid[16], value[64];

		if (one->last.times <= one->first.times)
			continue;
		snprintf(pid, sizeof(pid), "%u", session->config->targets[i].pid);
		snprintf(value, sizeof(value), "%llu %llu", (unsigned long long)times,
			 (unsigned long long)(one->last.ns - one->first.ns));
		(void)recording_facts_attribute(&session->facts, batch,
						VALUE_attribute_group_throttled, pid, value);
	}
}
