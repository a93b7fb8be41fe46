/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often a thread is stopped that can't be borrowed. */
#include "inject/inject_refusals.h"

#include "unit.h"

#define STEP_NS NS_PER_MILLISECOND /* it is looked at so often */

/* In so many seconds; the place is another one after so many stops, 0: never. */
static unsigned stops_within(unsigned seconds, unsigned moves_after)
{
	struct inject_refusals refusals = {0};
	unsigned stops = 0;
	u64 start_ns = 1000 * NS_PER_SECOND;

	for (u64 now_ns = start_ns; now_ns < start_ns + seconds * NS_PER_SECOND;
	     now_ns += STEP_NS) {
		if (!inject_refusals_allow(&refusals, 7, now_ns))
			continue;
		inject_refusals_note(&refusals, 7, 1 + (moves_after ? stops / moves_after : 0),
				     now_ns);
		stops++;
	}
	inject_refusals_free(&refusals);
	return stops;
}

TEST(one_that_stays_where_it_is_is_seldom_stopped)
{
	/* At 0, 10, 30, 70, 150, 310, 630 ms, then each 320. */
	CHECK_U64(stops_within(1, 0), 8);
	CHECK_U64(stops_within(6, 0), 23);
}

TEST(one_that_moves_is_stopped_more_often)
{
	CHECK_U64(stops_within(6, 1), 152);
	/* 40, 80, 160 ms each time. */
	CHECK_U64(stops_within(6, 3), 68);
}

TEST(one_does_not_speak_for_another)
{
	struct inject_refusals refusals = {0};

	inject_refusals_note(&refusals, 7, 1, NS_PER_SECOND);
	CHECK(!inject_refusals_allow(&refusals, 7, NS_PER_SECOND));
	CHECK(!inject_refusals_allow(&refusals, 7, NS_PER_SECOND + 10 * NS_PER_MILLISECOND - 1));
	CHECK(inject_refusals_allow(&refusals, 7, NS_PER_SECOND + 10 * NS_PER_MILLISECOND));
	CHECK(inject_refusals_allow(&refusals, 8, NS_PER_SECOND));
	inject_refusals_free(&refusals);
}

UNIT_MAIN()
