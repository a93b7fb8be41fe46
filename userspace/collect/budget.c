#include "collect/budget.h"

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

size_t budget_choose(const struct budget_part *parts, size_t part_count, u64 cpu_ns,
		     double max_percent)
{
	u64 of_levels_ns = 0, all_ns = 0;

	for (size_t i = 0; i < part_count; i++) {
		all_ns += parts[i].cost_ns;
		of_levels_ns += parts[i].by_level ? parts[i].cost_ns : 0;
	}
	if (is_over(of_levels_ns, cpu_ns, BUDGET_OF_LEVELS_PERCENT))
		return dearest(parts, part_count, true);
	if (max_percent > 0 && is_over(all_ns, cpu_ns, max_percent))
		return dearest(parts, part_count, false);
	return BUDGET_NONE;
}

void budget_drop(struct budget_part *parts, size_t part)
{
	parts[part].cost_ns = 0;
	parts[part].may_go = false;
}
