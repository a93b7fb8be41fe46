/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/budget.h"

static bool is_over(u64 cost_ns, u64 cpu_ns, double percent)
{
	return (double)cost_ns * 100 > (double)cpu_ns * percent;
}

enum sort { EVERY, OF_LEVELS, OF_API };

static bool is_of(const struct budget_part *part, enum sort sort)
{
	return sort == EVERY || (sort == OF_LEVELS ? part->by_level : part->api);
}

/* The dearest one that may go, but that one goes first. */
static size_t dearest(const struct budget_part *parts, size_t part_count, u64 cpu_ns,
		      enum sort sort)
{
	size_t best = BUDGET_NONE;

	for (size_t i = 0; i < part_count; i++) {
		if (!parts[i].may_go || !parts[i].cost_ns || !is_of(&parts[i], sort))
			continue;
		if (parts[i].goes_first && is_over(parts[i].cost_ns, cpu_ns, BUDGET_FIRST_PERCENT))
			return i;
		if (best == BUDGET_NONE || parts[i].cost_ns > parts[best].cost_ns)
			best = i;
	}
	return best;
}

static u64 cost_of(const struct budget_part *parts, size_t part_count, enum sort sort)
{
	u64 sum_ns = 0;

	for (size_t i = 0; i < part_count; i++)
		sum_ns += is_of(&parts[i], sort) ? parts[i].cost_ns : 0;
	return sum_ns;
}

/* It may cost that much, or what was said where that is more. */
static double more_of(double percent, double max_percent)
{
	return max_percent > percent ? max_percent : percent;
}

double budget_of_levels_percent(struct budget_streak *streak, const struct budget_part *parts,
				size_t part_count, u64 cpu_ns, u64 passed_ns)
{
	u64 cost_ns = cost_of(parts, part_count, OF_LEVELS);
	bool works = is_over(cpu_ns, passed_ns, BUDGET_AT_WORK_PERCENT);
	unsigned at_once_percent =
		streak->has_begun ? BUDGET_AT_ONCE_PERCENT : BUDGET_AT_ONCE_FIRST_PERCENT;

	/* A pause says nothing of the moments in which the target works. */
	if (works && !is_over(cost_ns, cpu_ns, BUDGET_STREAK_PERCENT))
		*streak = (struct budget_streak){0};
	streak->has_begun = true;
	if (!is_over(cost_ns, passed_ns, BUDGET_OF_ONE_CPU_PERCENT) ||
	    !is_over(cost_ns, cpu_ns, BUDGET_OF_LEVELS_PERCENT))
		return 0;
	streak->readings++;
	streak->cpu_ns += cpu_ns;
	if (streak->readings >= BUDGET_STREAK_READINGS && streak->cpu_ns >= BUDGET_STREAK_CPU_NS)
		return BUDGET_OF_LEVELS_PERCENT;
	if (is_over(cost_ns, cpu_ns, at_once_percent) &&
	    is_over(cost_ns, passed_ns, BUDGET_AT_ONCE_OF_ONE_CPU_PERCENT))
		return BUDGET_AT_ONCE_PERCENT;
	return 0;
}

size_t budget_choose(const struct budget_part *parts, size_t part_count, u64 cpu_ns,
		     const struct budget_limits *limits)
{
	double max_percent = limits->max_percent;

	if (limits->of_api && is_over(cost_of(parts, part_count, OF_API), cpu_ns,
				      more_of(BUDGET_OF_API_PERCENT, max_percent)))
		return dearest(parts, part_count, cpu_ns, OF_API);
	if (limits->levels_percent > 0 && is_over(cost_of(parts, part_count, OF_LEVELS), cpu_ns,
						  more_of(limits->levels_percent, max_percent)))
		return dearest(parts, part_count, cpu_ns, OF_LEVELS);
	if (max_percent > 0 && is_over(cost_of(parts, part_count, EVERY), cpu_ns, max_percent))
		return dearest(parts, part_count, cpu_ns, EVERY);
	return BUDGET_NONE;
}

void budget_drop(struct budget_part *parts, size_t part)
{
	parts[part].cost_ns = 0;
	parts[part].may_go = false;
}
