/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The row of why a GPU was idle, of a capture that is made of text: which gaps are drawn, and that those are drawn whole. */
#include "unit.h"

#include <string.h>

#include "capture_fixture.h"
#include "exporters/idle_slices.h"

#define KERNEL(device, ts, dur, more)                                    \
	"{\"kind\":\"kernel\",\"source\":2,\"ts\":" #ts ",\"dur\":" #dur \
	",\"pid\":7,\"name\":\"k\","                                     \
	"\"device\":\"" device "\",\"stream\":\"of " device "\"" more "}\n"
#define LAUNCHED(number) ",\"correlation\":" #number
#define LAUNCH(number, ts, dur)                                       \
	"{\"kind\":\"api\",\"source\":2,\"ts\":" #ts ",\"dur\":" #dur \
	",\"pid\":7,\"tid\":7,\"name\":"                              \
	"\"cudaLaunchKernel\",\"correlation\":" #number "}\n"
#define DEVICE(device, number)                                                                  \
	"{\"kind\":\"device\",\"source\":2,\"pid\":7,\"id\":\"" device "\",\"number\":" #number \
	"}\n"                                                                                   \
	"{\"kind\":\"stream\",\"source\":2,\"pid\":7,\"id\":\"of " device                       \
	"\",\"device\":\"" device "\",\"number\":7}\n"

/* Gaps of A are of 100,000, 10,000, 1,900, 2,000 and 500,000 ns, of B of 200,100, 1,000, 5,000 and 100,000. */
static const char capture[] =
	"{\"kind\":\"window\",\"source\":1,\"ts\":1000000,\"dur\":1000000}\n" DEVICE("A", 0)
		DEVICE("B", 1) KERNEL("A", 1100000, 100000, "") KERNEL("B", 1200100, 5900, "")
			LAUNCH(1, 1200500, 8000) KERNEL("B", 1207000, 3200, "") KERNEL(
				"A", 1210000, 90000, LAUNCHED(1)) KERNEL("B", 1215200, 684800, "")
				LAUNCH(2, 1300500, 900) KERNEL("A", 1301900, 98100, LAUNCHED(2))
					LAUNCH(3, 1400700, 700)
						KERNEL("A", 1402000, 98000, LAUNCHED(3));

static const struct {
	size_t gpu;
	u64 ts, dur;
	const char *name;
} expected[] = {
	{0, 1000000, 100000, "not known: before the first work"},
	{1, 1000000, 200100, "not known: before the first work"},
	{0, 1200000, 500, "runs other code, or waits"},
	{0, 1200500, 8000, "in the call that launches: cudaLaunchKernel"},
	{0, 1208500, 1500, "launched, not begun: cudaLaunchKernel"},
	{1, 1210200, 5000, "not known: launch not recorded: k"},
	{0, 1400000, 700, "runs other code, or waits"},
	{0, 1400700, 700, "in the call that launches: cudaLaunchKernel"},
	{0, 1401400, 600, "launched, not begun: cudaLaunchKernel"},
	{0, 1500000, 500000, "not known: behind the last work"},
	{1, 1900000, 100000, "not known: behind the last work"},
};

TEST(gaps_from_2_us_on_are_drawn_whole)
{
	struct fixture _fixture_ fixture = fixture_open(capture);
	struct idle_slices idle = {0};
	struct idle_slice slice;
	struct err err = {0};
	size_t count = 0;

	CHECK_OK(idle_slices_find(&idle, fixture.view, &err), err);
	while (idle_slices_next(&idle, ~0ULL, &slice, &err) > 0) {
		size_t i = count++;

		if (i >= ARRAY_SIZE(expected) || slice.gpu != expected[i].gpu ||
		    slice.ts != expected[i].ts || slice.dur != expected[i].dur ||
		    strcmp(slice.name, expected[i].name) != 0)
			UNIT_FAIL("slice %zu of GPU %zu at %llu for %llu ns: %s", i, slice.gpu,
				  (unsigned long long)slice.ts, (unsigned long long)slice.dur,
				  slice.name);
	}
	CHECK(count == ARRAY_SIZE(expected));
	idle_slices_free(&idle);
}

TEST(none_comes_before_its_time)
{
	struct fixture _fixture_ fixture = fixture_open(capture);
	struct idle_slices idle = {0};
	struct idle_slice slice;
	struct err err = {0};

	CHECK_OK(idle_slices_find(&idle, fixture.view, &err), err);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		if (i && expected[i].ts > expected[i - 1].ts)
			CHECK(idle_slices_next(&idle, expected[i].ts - 1, &slice, &err) == 0);
		CHECK(idle_slices_next(&idle, expected[i].ts, &slice, &err) == 1);
		CHECK_U64(slice.ts, expected[i].ts);
	}
	CHECK(idle_slices_next(&idle, ~0ULL, &slice, &err) == 0);
	idle_slices_free(&idle);
}

/* Of two with the same number, if any, nothing differs that is drawn. */
TEST(a_number_stands_for_what_a_slice_says)
{
	struct fixture _fixture_ fixture = fixture_open(capture);
	struct idle_slice slices[ARRAY_SIZE(expected)];
	struct idle_slices idle = {0};
	struct err err = {0};

	CHECK_OK(idle_slices_find(&idle, fixture.view, &err), err);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		CHECK(idle_slices_next(&idle, ~0ULL, &slices[i], &err) == 1);
	/* Both GPUs' first gaps, and what A waited for twice; its launches are of one thread. */
	CHECK_U64(slices[0].look, slices[1].look);
	CHECK_U64(slices[2].look, slices[6].look);
	CHECK_U64(slices[3].look, slices[7].look);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		for (size_t j = 0; j < i; j++)
			CHECK((slices[i].look == slices[j].look) ==
			      (strcmp(slices[i].name, slices[j].name) == 0));
	idle_slices_free(&idle);
}

UNIT_MAIN()
