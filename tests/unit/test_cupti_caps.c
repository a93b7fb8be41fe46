/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What uses up the numbers that options allow, of activities and of API calls. */
#include "cupti_fixture.h"
#include "unit.h"

/* From 1000 to 1500. */
static void convert_kernel(struct fixture *fixture)
{
	u8 record[248] = {0};

	put(record, 0, 10, 4);
	put(record, 16, 1000, 8);
	put(record, 24, 1500, 8);
	put(record, 104, 0x1234, 8);
	cupti_convert(&fixture->convert, record, 200);
}

/* From 100 to 200: cudaLaunchKernel. */
static void convert_call(struct fixture *fixture)
{
	u8 record[40] = {0};

	put(record, 0, 5, 4);
	put(record, 4, 211, 4);
	put(record, 8, 100, 8);
	put(record, 16, 200, 8);
	cupti_convert(&fixture->convert, record, sizeof(record));
}

static void convert_both(struct fixture *fixture, u64 before_kernel_ns, u64 before_call_ns)
{
	fixture->control->window_start_ns = before_kernel_ns;
	convert_kernel(fixture);
	fixture->control->window_start_ns = before_call_ns;
	convert_call(fixture);
}

/* It reaches into the window and is sent; the view leaves it out. */
TEST(what_began_before_the_window_uses_up_nothing_of_a_cap)
{
	struct fixture *fixture = fixture_make();

	fixture->control->cupti.activity_events_max = 1;
	fixture->control->cupti.callback_events_max = 1;
	convert_both(fixture, 1001, 101);
	CHECK(last(fixture, KIND_kernel) != NULL);
	CHECK(last(fixture, KIND_api) != NULL);
	/* The first of each that begins in the first moment of the window is within the cap, the next is not. */
	convert_both(fixture, 1000, 100);
	CHECK_U64(counted(fixture, AGENT_COUNT_CAPPED_ACTIVITIES), 0);
	CHECK_U64(counted(fixture, AGENT_COUNT_CAPPED_CALLBACKS), 0);
	convert_both(fixture, 1000, 100);
	CHECK_U64(counted(fixture, AGENT_COUNT_CAPPED_ACTIVITIES), 1);
	CHECK_U64(counted(fixture, AGENT_COUNT_CAPPED_CALLBACKS), 1);
	fixture_free(fixture);
}

UNIT_MAIN()
