/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "session/budget.h"

#define CPU_NS 1000

/* The budget of levels, and one of this for everything. */
static const struct budget_limits *limits(double max_percent)
{
	static struct budget_limits both;

	both = (struct budget_limits){true, max_percent};
	return &both;
}

TEST(within_the_budget_everything_stays)
{
	const struct budget_part parts[] = {{100, false, true}, {50, true, true}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(15)), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(0)), BUDGET_NONE);
}

TEST(what_the_user_named_goes_only_when_a_budget_is_given)
{
	const struct budget_part parts[] = {{900, false, true}, {50, true, true}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(0)), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(50)), 0);
}

TEST(what_levels_switch_on_is_held_to_its_own_budget)
{
	const struct budget_part parts[] = {{900, false, true}, {20, true, true}, {31, true, true}};

	CHECK_U64(budget_choose(parts, 3, CPU_NS, limits(0)), 2);
	CHECK_U64(budget_choose(parts, 3, CPU_NS, limits(100)), 2);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(0)), BUDGET_NONE);
}

TEST(the_dearest_go_one_after_the_other_until_the_rest_fits)
{
	struct budget_part parts[] = {
		{100, false, true}, {400, false, true}, {200, false, true}, {10, false, true}};

	CHECK_U64(budget_choose(parts, 4, CPU_NS, limits(20)), 1);
	budget_drop(parts, 1);
	CHECK_U64(budget_choose(parts, 4, CPU_NS, limits(20)), 2);
	budget_drop(parts, 2);
	CHECK_U64(budget_choose(parts, 4, CPU_NS, limits(20)), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 4, CPU_NS, limits(10)), 0);
}

TEST(what_cannot_go_alone_stays_whatever_it_costs)
{
	const struct budget_part parts[] = {{900, false, false}, {0, false, true}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(1)), BUDGET_NONE);
	CHECK_U64(budget_choose(NULL, 0, CPU_NS, limits(1)), BUDGET_NONE);
}

TEST(levels_are_held_to_their_budget_only_when_it_is_asked_for)
{
	const struct budget_part parts[] = {{100, false, true}, {200, true, true}};
	const struct budget_limits all = {false, 20};
	const struct budget_limits none = {false, 0};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, &none), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, &all), 1);
}

#define READING_NS (BUDGET_STREAK_CPU_NS / 2)

/* One reading in which levels cost so much. */
static bool read_levels(struct budget_streak *streak, u64 percent, u64 cpu_ns)
{
	const struct budget_part parts[] = {{cpu_ns, false, true},
					    {cpu_ns * percent / 100, true, true}};

	return budget_levels_are_over(streak, parts, 2, cpu_ns);
}

TEST(a_streak_takes_several_readings)
{
	struct budget_streak streak = {0};

	for (unsigned i = 1; i < BUDGET_STREAK_READINGS; i++)
		CHECK(!read_levels(&streak, 50, READING_NS));
	CHECK(read_levels(&streak, 50, READING_NS));
	CHECK(read_levels(&streak, 50, READING_NS));
}

TEST(a_streak_takes_cpu_time)
{
	struct budget_streak streak = {0};

	for (unsigned i = 1; i < 100; i++)
		CHECK(!read_levels(&streak, 50, BUDGET_STREAK_CPU_NS / 100));
	CHECK(read_levels(&streak, 50, BUDGET_STREAK_CPU_NS / 100));
}

TEST(a_reading_below_the_budget_ends_a_streak_and_one_just_below_does_not)
{
	struct budget_streak streak = {0};

	for (unsigned i = 1; i < BUDGET_STREAK_READINGS; i++)
		CHECK(!read_levels(&streak, 50, READING_NS));
	CHECK(!read_levels(&streak, BUDGET_OF_LEVELS_PERCENT, READING_NS));
	CHECK(read_levels(&streak, 50, READING_NS));
	CHECK(!read_levels(&streak, 1, READING_NS));
	CHECK(!read_levels(&streak, 50, READING_NS));
}

UNIT_MAIN()
