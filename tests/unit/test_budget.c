#include "unit.h"

#include "collect/budget.h"

#define CPU_NS 1000

TEST(within_the_budget_everything_stays)
{
	const struct budget_part parts[] = {{100, false, true}, {50, true, true}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, 15), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, 0), BUDGET_NONE);
}

TEST(what_the_user_named_goes_only_when_a_budget_is_given)
{
	const struct budget_part parts[] = {{900, false, true}, {50, true, true}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, 0), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, 50), 0);
}

TEST(what_levels_switch_on_is_held_to_its_own_budget)
{
	const struct budget_part parts[] = {{900, false, true}, {20, true, true}, {31, true, true}};

	CHECK_U64(budget_choose(parts, 3, CPU_NS, 0), 2);
	CHECK_U64(budget_choose(parts, 3, CPU_NS, 100), 2);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, 0), BUDGET_NONE);
}

TEST(the_dearest_go_one_after_the_other_until_the_rest_fits)
{
	struct budget_part parts[] = {
		{100, false, true}, {400, false, true}, {200, false, true}, {10, false, true}};

	CHECK_U64(budget_choose(parts, 4, CPU_NS, 20), 1);
	budget_drop(parts, 1);
	CHECK_U64(budget_choose(parts, 4, CPU_NS, 20), 2);
	budget_drop(parts, 2);
	CHECK_U64(budget_choose(parts, 4, CPU_NS, 20), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 4, CPU_NS, 10), 0);
}

TEST(what_cannot_go_alone_stays_whatever_it_costs)
{
	const struct budget_part parts[] = {{900, false, false}, {0, false, true}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, 1), BUDGET_NONE);
	CHECK_U64(budget_choose(NULL, 0, CPU_NS, 1), BUDGET_NONE);
}

UNIT_MAIN()
