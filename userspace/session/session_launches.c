/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of launches, of all while they are cheap (--launch-stacks auto), or of the first ones (first). */
#include "base/clock.h"
#include "plan/gpu_catalogue.h"
#include "session/session_parts.h"

/* Less than this in the time that is looked at disturbs nobody. A moment says something of what costs far too much only. */
#define LOOK_COST_NS	(NS_PER_MILLISECOND / 2)
#define AT_ONCE_PERCENT (4 * BUDGET_OF_LAUNCH_STACKS_PERCENT)
/* Of a window that is longer, or has no end, the first ones have a share of this: the thread that launches is slowed down as they are taken. */
#define FIRST_OF_NS (10 * NS_PER_SECOND)

/* NULL: none are taken. */
static struct overhead_part *part_of(struct overhead_part *parts, size_t count)
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
	session->launches_end_ns = now_ns;
	session_put_loss(session, VALUE_loss_reason_launch_stacks_sampled, name, now_ns, 1);
	if (config->on_sampled)
		config->on_sampled(config->callback_data, name, BUDGET_LAUNCH_SAMPLES_PER_SECOND,
				   now_ns - session->window_start_ns, percent);
}

/* They are told of where they are missed: nothing costs more than it was meant to. */
static void end_first(struct session *session, struct overhead_part *part)
{
	const struct session_meanwhile beside = {0};

	session_take_sort_off(session, PRICE_LAUNCH_STACKS, &beside);
	part->switched_off_ns = session->launches_end_ns = clock_monotonic_ns();
	session->launches_first = false;
	session->api_probed = plan_has_api(session->config->plan);
	session_put_loss(session, VALUE_loss_reason_launch_stacks_ended, part->name,
			 session->launches_end_ns, 1);
}

/* Of the window they may cost so much. */
static u64 first_ns(const struct session *session)
{
	u64 duration_ns = session->config->settings->duration_ns;

	return (duration_ns && duration_ns < FIRST_OF_NS ? duration_ns : FIRST_OF_NS) / 100 *
	       BUDGET_OF_LAUNCH_STACKS_PERCENT;
}

void session_launch_look(struct session *session, struct overhead_part *parts, size_t count,
			 u64 spent_ns, bool is_whole)
{
	struct overhead_part *part = part_of(parts, count);
	u64 cost_ns;

	if (session->launches_first && part && !part->switched_off_ns &&
	    part->cost_ns >= first_ns(session))
		end_first(session, part);
	if (!session->launches_by_price || !part || part->switched_off_ns || !spent_ns)
		return;
	cost_ns = part->cost_ns - part->api_cost_ns;
	if (cost_ns >= LOOK_COST_NS &&
	    cost_ns * 100 >
		    spent_ns * (is_whole ? BUDGET_OF_LAUNCH_STACKS_PERCENT : AT_ONCE_PERCENT))
		sample(session, part->name, 100.0 * (double)cost_ns / (double)spent_ns);
}

void session_launch_forget(const struct session *session, struct overhead_part *parts,
			   struct budget_part *budget, size_t count)
{
	const struct overhead_part *part = part_of(parts, count);
	u64 since_ns = session->looked_ns ? session->looked_ns : session->window_start_ns;
	bool has_limit = session->config->settings->max_overhead_percent != 0;

	if (part &&
	    (session->launches_end_ns >= since_ns || (session->launches_first && !has_limit)))
		budget[part - parts].cost_ns = 0;
}
