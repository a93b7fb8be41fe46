/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/budget.h"

static bool is_over(u64 cost_ns, u64 cpu_ns, double percent)
{
	return (double)cost_ns * 100 > (double)cpu_ns * percent;
}

/* The dearest one that may go. */
static size_t dearest(const struct budget_part *parts, size_t part_count, bool only_levels)
{
	size_t best = BUDGET_NONE;

	for (size_t i = 0; i < part_count; i++) {
		if (!parts[i].may_go || !parts[i].cost_ns || (only_levels && !parts[i].by_level))
			continue;
		if (best == BUDGET_NONE || parts[i].cost_ns > parts[best].cost_ns)
			best = i;
	}
	return best;
}

static u64 cost_of_levels(const struct budget_part *parts, size_t part_count)
{
	u64 sum_ns = 0;

	for (size_t i = 0; i < part_count; i++)
		sum_ns += parts[i].by_level ? parts[i].cost_ns : 0;
	return sum_ns;
}

bool budget_levels_are_over(struct budget_streak *streak, const struct budget_part *parts,
			    size_t part_count, u64 cpu_ns)
{
	u64 cost_ns = cost_of_levels(parts, part_count);

	if (!is_over(cost_ns, cpu_ns, BUDGET_STREAK_PERCENT))
		*streak = (struct budget_streak){0};
	if (!is_over(cost_ns, cpu_ns, BUDGET_OF_LEVELS_PERCENT))
		return false;
	streak->readings++;
	streak->cpu_ns += cpu_ns;
	return streak->readings >= BUDGET_STREAK_READINGS && streak->cpu_ns >= BUDGET_STREAK_CPU_NS;
}

size_t budget_choose(const struct budget_part *parts, size_t part_count, u64 cpu_ns,
		     const struct budget_limits *limits)
{
	u64 all_ns = 0;

	for (size_t i = 0; i < part_count; i++)
		all_ns += parts[i].cost_ns;
	if (limits->of_levels &&
	    is_over(cost_of_levels(parts, part_count), cpu_ns, BUDGET_OF_LEVELS_PERCENT))
		return dearest(parts, part_count, true);
	if (limits->max_percent > 0 && is_over(all_ns, cpu_ns, limits->max_percent))
		return dearest(parts, part_count, false);
	return BUDGET_NONE;
}

void budget_drop(struct budget_part *parts, size_t part)
{
	parts[part].cost_ns = 0;
	parts[part].may_go = false;
}
