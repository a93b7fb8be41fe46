/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "session/budget.h"

#define CPU_NS 1000

/* The budget of levels, and one of this for everything. */
static const struct budget_limits *limits(double max_percent)
{
	static struct budget_limits both;

	both = (struct budget_limits){.levels_percent = BUDGET_OF_LEVELS_PERCENT,
				      .max_percent = max_percent};
	return &both;
}

TEST(within_the_budget_everything_stays)
{
	const struct budget_part parts[] = {{100, false, true, false, false},
					    {50, true, true, false, false}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(15)), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(0)), BUDGET_NONE);
}

TEST(what_the_user_named_goes_only_when_a_budget_is_given)
{
	const struct budget_part parts[] = {{900, false, true, false, false},
					    {50, true, true, false, false}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(0)), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(50)), 0);
}

TEST(what_levels_switch_on_is_held_to_its_own_budget)
{
	const struct budget_part parts[] = {{900, false, true, false, false},
					    {20, true, true, false, false},
					    {31, true, true, false, false}};

	CHECK_U64(budget_choose(parts, 3, CPU_NS, limits(0)), 2);
	CHECK_U64(budget_choose(parts, 3, CPU_NS, limits(5)), 2);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(0)), BUDGET_NONE);
}

TEST(who_says_that_more_may_be_spent_keeps_what_levels_switch_on)
{
	const struct budget_part parts[] = {{80, true, true, false, false},
					    {31, true, true, false, false}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(12)), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(11)), 0);
}

/* The dearest took 17 %, and waits 6 %: near the budget, which they pass for long or not at all. */
TEST(what_goes_at_once_takes_nothing_with_it_that_is_near_the_budget)
{
	const struct budget_limits at_once = {.levels_percent = BUDGET_AT_ONCE_PERCENT};
	struct budget_part parts[] = {{170, true, true, false, false},
				      {60, true, true, false, false}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, &at_once), 0);
	budget_drop(parts, 0);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, &at_once), BUDGET_NONE);
}

TEST(calls_of_cuda_are_held_to_less_and_nothing_else_goes_for_them)
{
	const struct budget_limits of_api = {.of_api = true};
	struct budget_part parts[] = {{900, true, true, false, false},
				      {19, true, true, true, false},
				      {23, true, true, true, false}};

	const struct budget_limits more = {.of_api = true, .max_percent = 95};

	CHECK_U64(budget_choose(parts, 3, CPU_NS, &more), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 3, CPU_NS, &of_api), 2);
	budget_drop(parts, 2);
	CHECK_U64(budget_choose(parts, 3, CPU_NS, &of_api), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 3, CPU_NS, limits(0)), 0);
}

TEST(what_goes_first_goes_before_dearer_ones)
{
	struct budget_part parts[] = {{900, true, true, false, false},
				      {11, true, true, false, true}};
	struct budget_part cheap[] = {{900, true, true, false, false},
				      {9, true, true, false, true}};
	const struct budget_limits of_levels = {.levels_percent = BUDGET_OF_LEVELS_PERCENT};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, &of_levels), 1);
	budget_drop(parts, 1);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, &of_levels), 0);
	/* It would help nothing. */
	CHECK_U64(budget_choose(cheap, 2, CPU_NS, &of_levels), 0);
}

TEST(the_dearest_go_one_after_the_other_until_the_rest_fits)
{
	struct budget_part parts[] = {{100, false, true, false, false},
				      {400, false, true, false, false},
				      {200, false, true, false, false},
				      {10, false, true, false, false}};

	CHECK_U64(budget_choose(parts, 4, CPU_NS, limits(20)), 1);
	budget_drop(parts, 1);
	CHECK_U64(budget_choose(parts, 4, CPU_NS, limits(20)), 2);
	budget_drop(parts, 2);
	CHECK_U64(budget_choose(parts, 4, CPU_NS, limits(20)), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 4, CPU_NS, limits(10)), 0);
}

TEST(what_cannot_go_alone_stays_whatever_it_costs)
{
	const struct budget_part parts[] = {{900, false, false, false, false},
					    {0, false, true, false, false}};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, limits(1)), BUDGET_NONE);
	CHECK_U64(budget_choose(NULL, 0, CPU_NS, limits(1)), BUDGET_NONE);
}

TEST(levels_are_held_to_their_budget_only_when_it_is_asked_for)
{
	const struct budget_part parts[] = {{100, false, true, false, false},
					    {200, true, true, false, false}};
	const struct budget_limits all = {.max_percent = 20};
	const struct budget_limits none = {.max_percent = 0};

	CHECK_U64(budget_choose(parts, 2, CPU_NS, &none), BUDGET_NONE);
	CHECK_U64(budget_choose(parts, 2, CPU_NS, &all), 1);
}

#define READING_NS (BUDGET_STREAK_CPU_NS / 2)

/* One reading in which levels cost so much: what they are held to. */
static double read_levels(struct budget_streak *streak, u64 percent, u64 cpu_ns)
{
	const struct budget_part parts[] = {{cpu_ns, false, true, false, false},
					    {cpu_ns * percent / 100, true, true, false, false}};

	/* On four CPUs. */
	return budget_of_levels_percent(streak, parts, 2, cpu_ns, cpu_ns / 4);
}

TEST(a_streak_takes_several_readings)
{
	struct budget_streak streak = {0};

	for (unsigned i = 1; i < BUDGET_STREAK_READINGS; i++)
		CHECK(!read_levels(&streak, 15, READING_NS));
	CHECK(read_levels(&streak, 15, READING_NS) == BUDGET_OF_LEVELS_PERCENT);
	CHECK(read_levels(&streak, 15, READING_NS) == BUDGET_OF_LEVELS_PERCENT);
}

TEST(one_reading_far_above_the_budget_is_enough)
{
	struct budget_streak streak = {.has_begun = true};

	CHECK(!read_levels(&streak, BUDGET_AT_ONCE_PERCENT, 1000));
	CHECK(read_levels(&streak, BUDGET_AT_ONCE_PERCENT + 1, 1000) == BUDGET_AT_ONCE_PERCENT);
}

TEST(the_first_reading_has_what_starting_up_costs)
{
	struct budget_streak streak = {0}, dear = {0};

	CHECK(!read_levels(&streak, BUDGET_AT_ONCE_FIRST_PERCENT, 1000));
	CHECK(read_levels(&streak, BUDGET_AT_ONCE_FIRST_PERCENT, 1000) == BUDGET_AT_ONCE_PERCENT);
	CHECK(read_levels(&dear, BUDGET_AT_ONCE_FIRST_PERCENT + 1, 1000) == BUDGET_AT_ONCE_PERCENT);
	/* One that is cheap is the first, too. */
	dear = (struct budget_streak){0};
	CHECK(!read_levels(&dear, 1, 1000));
	CHECK(read_levels(&dear, BUDGET_AT_ONCE_PERCENT + 1, 1000) == BUDGET_AT_ONCE_PERCENT);
}

/* A service that sleeps nearly all the time: half of what it runs is less than nobody notices, in each second. */
TEST(what_takes_next_to_nothing_of_a_cpu_stays_whatever_its_share_is)
{
	struct budget_streak streak = {0};
	const u64 second_ns = 1000000000ULL,
		  noticed_ns = second_ns / 100 * BUDGET_OF_ONE_CPU_PERCENT;
	const struct budget_part little[] = {{noticed_ns, true, true, false, false}};
	const struct budget_part more[] = {{noticed_ns + 1000000, true, true, false, false}};

	for (unsigned i = 0; i < 2 * BUDGET_STREAK_READINGS; i++)
		CHECK(!budget_of_levels_percent(&streak, little, 1, 2 * noticed_ns, second_ns));
	for (unsigned i = 1; i < 10; i++)
		CHECK(!budget_of_levels_percent(&streak, more, 1, BUDGET_STREAK_CPU_NS / 10,
						second_ns));
	CHECK(budget_of_levels_percent(&streak, more, 1, BUDGET_STREAK_CPU_NS / 10, second_ns));
}

/* The first half second of one that waits for its loaders: of 60 ms of CPU time recording took 13 ms. */
TEST(much_of_little_is_looked_at_twice)
{
	struct budget_streak streak = {.has_begun = true};
	const u64 half_second_ns = 500000000ULL,
		  hurts_ns = half_second_ns / 100 * BUDGET_AT_ONCE_OF_ONE_CPU_PERCENT;
	const struct budget_part little[] = {{hurts_ns, true, true, false, false}};
	const struct budget_part more[] = {{hurts_ns + 1000000, true, true, false, false}};

	CHECK(!budget_of_levels_percent(&streak, little, 1, 4 * hurts_ns, half_second_ns));
	CHECK(budget_of_levels_percent(&streak, more, 1, 4 * hurts_ns, half_second_ns));
}

/* It works for a second, and sleeps for one. */
TEST(a_pause_ends_no_streak)
{
	struct budget_streak streak = {0};
	const struct budget_part asleep[] = {{READING_NS / 1000, true, true, false, false}};
	const struct budget_part cheap[] = {{READING_NS / 1000, true, true, false, false}};

	for (unsigned i = 1; i < BUDGET_STREAK_READINGS; i++) {
		CHECK(!read_levels(&streak, 15, READING_NS));
		CHECK(!budget_of_levels_percent(&streak, asleep, 1, READING_NS / 20, READING_NS));
	}
	CHECK(read_levels(&streak, 15, READING_NS));
	/* It works as much as before, and is recorded for next to nothing: that is no pause. */
	CHECK(!budget_of_levels_percent(&streak, cheap, 1, READING_NS, READING_NS));
	CHECK(!read_levels(&streak, 15, READING_NS));
}

TEST(a_streak_takes_cpu_time)
{
	struct budget_streak streak = {0};

	for (unsigned i = 1; i < 100; i++)
		CHECK(!read_levels(&streak, 15, BUDGET_STREAK_CPU_NS / 100));
	CHECK(read_levels(&streak, 15, BUDGET_STREAK_CPU_NS / 100));
}

TEST(a_reading_below_the_budget_ends_a_streak_and_one_just_below_does_not)
{
	struct budget_streak streak = {0};

	for (unsigned i = 1; i < BUDGET_STREAK_READINGS; i++)
		CHECK(!read_levels(&streak, 15, READING_NS));
	CHECK(!read_levels(&streak, BUDGET_OF_LEVELS_PERCENT, READING_NS));
	CHECK(read_levels(&streak, 15, READING_NS));
	CHECK(!read_levels(&streak, 1, READING_NS));
	CHECK(!read_levels(&streak, 15, READING_NS));
}

UNIT_MAIN()
