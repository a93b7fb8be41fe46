/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process maps where it is more than the BPF programs search, and where among theirs it lies. */
#include "base/types.h"
#include "unwind/unwind_space.h"

#include "unit.h"

#define PIECE 0x1000ULL

static struct unwind_mapping mapping_of(u64 place, u64 file)
{
	return (struct unwind_mapping){place * PIECE, (place + 1) * PIECE,
				       file == UNWIND_NO_TABLE ? 0 : place * PIECE, file};
}

TEST(the_files_that_are_mapped_least_stay)
{
	struct unwind_mapping mappings[20];
	size_t count = 0, left_out;

	/* At the highest addresses, and seen last: a C library and its loader. */
	for (u64 i = 0; i < 10; i++)
		mappings[count++] = mapping_of(100 + 2 * i, 7);
	for (u64 i = 0; i < 3; i++)
		mappings[count++] = mapping_of(10 + 2 * i, UNWIND_NO_TABLE);
	mappings[count++] = mapping_of(1001, 2);
	mappings[count++] = mapping_of(1000, 1);
	CHECK(!unwind_space_fit(mappings, &count, 6, &left_out));
	CHECK_U64(count, 6);
	CHECK_U64(left_out, 9);
	for (size_t i = 1; i < count; i++)
		CHECK(mappings[i - 1].end <= mappings[i].start);
	for (size_t i = 0; i < 4; i++)
		CHECK_U64(mappings[i].file, 7);
	CHECK_U64(mappings[4].file, 1);
	CHECK_U64(mappings[5].file, 2);
}

TEST(neighbours_that_one_serves_as_well_are_one)
{
	struct unwind_mapping mappings[] = {
		{0x3000, 0x4000, 0x100, 1}, {0x1000, 0x2000, 0x100, 1}, {0x2000, 0x3000, 0x100, 1},
		{0x4000, 0x5000, 0x200, 1}, {0x5000, 0x6000, 0x200, 2}, {0x7000, 0x8000, 0x200, 2},
	};
	size_t count = ARRAY_SIZE(mappings), left_out;

	CHECK(!unwind_space_fit(mappings, &count, 4, &left_out));
	CHECK_U64(count, 4);
	CHECK_U64(left_out, 0);
	CHECK_U64(mappings[0].start, 0x1000);
	CHECK_U64(mappings[0].end, 0x4000);
	CHECK_U64(mappings[1].bias, 0x200);
	CHECK_U64(mappings[2].file, 2);
	CHECK_U64(mappings[3].start, 0x7000);
}

UNIT_MAIN()
