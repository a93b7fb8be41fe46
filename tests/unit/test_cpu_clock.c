/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "probe/cpu_clock.h"

#define PERIOD 10101010ULL

TEST(what_chance_explains_is_not_missing)
{
	CHECK_U64(cpu_clock_missed(78 * PERIOD, PERIOD, 55), 0); /* 2.6 deviations */
	CHECK_U64(cpu_clock_missed(78 * PERIOD, PERIOD, 78), 0);
	CHECK_U64(cpu_clock_missed(78 * PERIOD, PERIOD, 99), 0);
	CHECK_U64(cpu_clock_missed(10 * PERIOD, PERIOD, 0), 0);
	CHECK_U64(cpu_clock_missed(0, PERIOD, 0), 0);
	CHECK_U64(cpu_clock_missed(1, 0, 0), 0);
}

TEST(what_it_does_not_explain_is)
{
	CHECK_U64(cpu_clock_missed(290 * PERIOD, PERIOD, 190), 100);
	CHECK_U64(cpu_clock_missed(100 * PERIOD, PERIOD, 0), 100);
	CHECK_U64(cpu_clock_missed(1000 * PERIOD, PERIOD, 700), 300);
	CHECK_U64(cpu_clock_missed(1000 * PERIOD, PERIOD, 830), 0);
}

UNIT_MAIN()
