/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of launches, of all while they are cheap (--launch-stacks auto). */
#include "base/clock.h"
#include "session/session_parts.h"

/* Less than this in the time that is looked at disturbs nobody. A moment says something of what costs far too much only. */
#define LOOK_COST_NS	(NS_PER_MILLISECOND / 2)
#define AT_ONCE_PERCENT (4 * BUDGET_OF_LAUNCH_STACKS_PERCENT)

/* NULL: none are taken. */
static const struct overhead_part *part_of(const struct overhead_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (parts[i].function == SIZE_MAX && !parts[i].gpu &&
		    parts[i].sort == PRICE_LAUNCH_STACKS)
			return &parts[i];
	return NULL;
}

static void sample(struct session *session, const char *name, double percent)
{
	const struct session_config *config = session->config;
	u64 now_ns;

	bpf_source_sample_launches(session->source, BUDGET_LAUNCH_SAMPLES_PER_SECOND);
	now_ns = clock_monotonic_ns();
	session->launches_by_price = false;
	session->launches_sampled_ns = now_ns;
	session_put_loss(session, VALUE_loss_reason_launch_stacks_sampled, name, now_ns, 1);
	if (config->on_sampled)
		config->on_sampled(config->callback_data, name, BUDGET_LAUNCH_SAMPLES_PER_SECOND,
				   now_ns - session->window_start_ns, percent);
}

void session_launch_look(struct session *session, const struct overhead_part *parts, size_t count,
			 u64 spent_ns, bool is_whole)
{
	const struct overhead_part *part = part_of(parts, count);
	u64 cost_ns;

	if (!session->launches_by_price || !part || part->switched_off_ns || !spent_ns)
		return;
	cost_ns = part->cost_ns - part->api_cost_ns;
	if (cost_ns >= LOOK_COST_NS &&
	    cost_ns * 100 >
		    spent_ns * (is_whole ? BUDGET_OF_LAUNCH_STACKS_PERCENT : AT_ONCE_PERCENT))
		sample(session, part->name, 100.0 * (double)cost_ns / (double)spent_ns);
}

void session_launch_forget(const struct session *session, const struct overhead_part *parts,
			   struct budget_part *budget, size_t count)
{
	const struct overhead_part *part = part_of(parts, count);
	u64 since_ns = session->looked_ns ? session->looked_ns : session->window_start_ns;

	if (part && session->launches_sampled_ns >= since_ns)
		budget[part - parts].cost_ns = 0;
}
