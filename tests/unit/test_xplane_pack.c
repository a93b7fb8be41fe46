/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Own packing of events against protobuf-c's. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/xplane/xplane_pack.h"

typedef Tensorflow__Profiler__XEvent xplane_message;

#define STRING_BYTES_MAX 300

struct made {
	xplane_message event;
	xplane_stat stats[XPLANE_STATS_MAX], *list[XPLANE_STATS_MAX];
	char strings[XPLANE_STATS_MAX][STRING_BYTES_MAX + 1];
};

static u64 random_u64(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Of every length in bits, 0 too. */
static u64 random_number(u64 *state)
{
	unsigned bits = random_u64(state) % 65;

	return bits ? random_u64(state) >> (64 - bits) : 0;
}

static void make_stat(struct made *made, size_t place, u64 *state)
{
	static const Tensorflow__Profiler__XStat__ValueCase cases[] = {
		TENSORFLOW__PROFILER__XSTAT__VALUE__NOT_SET,
		TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE,
		TENSORFLOW__PROFILER__XSTAT__VALUE_UINT64_VALUE,
		TENSORFLOW__PROFILER__XSTAT__VALUE_INT64_VALUE,
		TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE,
		TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE,
	};
	xplane_stat *stat = &made->stats[place];
	size_t length = random_u64(state) % 4 ? random_u64(state) % 20
					      : random_u64(state) % (STRING_BYTES_MAX + 1);

	tensorflow__profiler__xstat__init(stat);
	stat->metadata_id = (s64)random_number(state);
	stat->value_case = cases[random_u64(state) % ARRAY_SIZE(cases)];
	stat->uint64_value = random_number(state);
	if (stat->value_case == TENSORFLOW__PROFILER__XSTAT__VALUE_DOUBLE_VALUE)
		stat->double_value = random_u64(state) % 3 ? (double)random_u64(state) / 3 : 0;
	if (stat->value_case == TENSORFLOW__PROFILER__XSTAT__VALUE_STR_VALUE) {
		memset(made->strings[place], 'a' + (int)(length % 26), length);
		made->strings[place][length] = '\0';
		stat->str_value = made->strings[place];
	}
	made->list[place] = stat;
}

static void make_event(struct made *made, u64 *state)
{
	tensorflow__profiler__xevent__init(&made->event);
	made->event.metadata_id = (s64)random_number(state);
	made->event.offset_ps = (s64)random_number(state);
	made->event.duration_ps = (s64)random_number(state);
	made->event.n_stats = random_u64(state) % (XPLANE_STATS_MAX + 1);
	made->event.stats = made->list;
	for (size_t i = 0; i < made->event.n_stats; i++)
		make_stat(made, i, state);
}

/* What protobuf-c packs, behind the tag and length of a field of XLine. */
static size_t pack_by_library(const xplane_message *event, u8 *to)
{
	size_t size_bytes = tensorflow__profiler__xevent__get_packed_size(event), head = 1;

	to[0] = 4 << 3 | 2;
	head += protobuf_put_varint(to + 1, size_bytes);
	CHECK_U64(tensorflow__profiler__xevent__pack(event, to + head), size_bytes);
	return head + size_bytes;
}

TEST(random_events_are_packed_as_protobuf_c_does)
{
	static u8 library[XPLANE_STATS_MAX * (STRING_BYTES_MAX + 64)];
	static struct made made;
	u64 state = 4242;

	for (unsigned i = 0; i < 20000; i++) {
		struct xplane_event_sizes sizes;
		size_t expected_bytes, size_bytes;
		u8 *own;

		make_event(&made, &state);
		expected_bytes = pack_by_library(&made.event, library);
		size_bytes = xplane_event_measure(&made.event, &sizes);
		CHECK_U64(size_bytes, expected_bytes);
		own = malloc(size_bytes); /* no byte more */
		CHECK(own != NULL);
		xplane_event_pack(&made.event, &sizes, own);
		CHECK(memcmp(own, library, size_bytes) == 0);
		free(own);
	}
}

TEST(varints_have_the_length_that_is_told)
{
	u8 bytes[PROTOBUF_VARINT_BYTES];

	for (unsigned bit = 0; bit < 64; bit++)
		for (int off = -1; off <= 1; off++) {
			u64 value = (1ULL << bit) + (u64)(s64)off;

			CHECK_U64(protobuf_put_varint(bytes, value), protobuf_varint_bytes(value));
		}
	CHECK_U64(protobuf_varint_bytes(~0ULL), PROTOBUF_VARINT_BYTES);
}

UNIT_MAIN()
