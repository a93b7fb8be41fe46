/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts and streams of an agent: what there is no room for is counted. */
#include "cupti_fixture.h"
#include "unit.h"

#define CONTEXTS 10000U
#define STREAMS	 10000U
#define UNKNOWN	 0xffffffffU

static u64 capped(const struct fixture *fixture)
{
	return counted(fixture, AGENT_COUNT_FACTS_CAPPED);
}

TEST(each_context_is_known_or_counted)
{
	struct fixture *fixture = fixture_make();
	struct streams *streams = fixture->convert.streams;
	u64 known = 0;

	for (u32 i = 0; i < CONTEXTS; i++)
		streams_set_context(streams, &fixture->writer, i * 7, i % 8);
	for (u32 i = 0; i < CONTEXTS; i++) {
		u32 device = streams_device(streams, i * 7);

		CHECK(device == UNKNOWN || device == i % 8);
		known += device != UNKNOWN;
	}
	CHECK(known >= 1024);
	CHECK_U64(known + capped(fixture), CONTEXTS);
	fixture_free(fixture);
}

TEST(a_context_that_is_told_again_takes_no_room)
{
	struct fixture *fixture = fixture_make();
	struct streams *streams = fixture->convert.streams;

	for (u32 i = 0; i < CONTEXTS; i++)
		streams_set_context(streams, &fixture->writer, 3, i % 8);
	CHECK_U64(streams_device(streams, 3), (CONTEXTS - 1) % 8);
	CHECK_U64(streams_device(streams, 4), UNKNOWN);
	CHECK_U64(capped(fixture), 0);
	fixture_free(fixture);
}

TEST(each_stream_is_known_or_counted)
{
	struct fixture *fixture = fixture_make();
	u64 unknown = 0;

	for (u32 i = 0; i < STREAMS; i++)
		unknown += streams_put(fixture->convert.streams, &fixture->writer, 1, 0, i) ==
			   STREAM_NONE;
	CHECK(unknown > 0 && unknown < STREAMS);
	CHECK_U64(capped(fixture), unknown);
	fixture_free(fixture);
}

UNIT_MAIN()
