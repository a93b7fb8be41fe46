/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places that are taken, given up by who is gone, and taken again. */
#include <errno.h>

#include "base/types.h"
#include "unwind/unwind_ranges.h"

#include "unit.h"

static u32 take(struct unwind_ranges *ranges, u32 count)
{
	u32 first = 0;

	CHECK(!unwind_ranges_take(ranges, count, &first));
	return first;
}

TEST(what_nobody_uses_is_taken_again)
{
	struct unwind_ranges ranges = {.max = 100};
	u32 used[2], first;

	CHECK_U64(take(&ranges, 40), 0);
	used[0] = take(&ranges, 10);
	CHECK_U64(take(&ranges, 20), 50);
	CHECK_U64(take(&ranges, 20), 70);
	used[1] = take(&ranges, 10);
	CHECK_U64(unwind_ranges_take(&ranges, 1, &first), -ENOSPC);
	CHECK_U64(unwind_ranges_drop(&ranges, used, 2), 3);
	/* Not before nobody reads there. */
	CHECK_U64(unwind_ranges_take(&ranges, 1, &first), -ENOSPC);
	unwind_ranges_reclaim(&ranges);
	CHECK_U64(unwind_ranges_take(&ranges, 41, &first), -ENOSPC);
	CHECK_U64(take(&ranges, 40), 0);
	CHECK_U64(take(&ranges, 25), 50);
	CHECK_U64(take(&ranges, 15), 75);
	CHECK_U64(unwind_ranges_take(&ranges, 1, &first), -ENOSPC);
	unwind_ranges_free(&ranges);
}

TEST(the_end_is_given_back)
{
	struct unwind_ranges ranges = {.max = 100};
	u32 used[] = {0};

	CHECK_U64(take(&ranges, 10), 0);
	take(&ranges, 50);
	take(&ranges, 40);
	CHECK_U64(unwind_ranges_drop(&ranges, used, 1), 2);
	unwind_ranges_reclaim(&ranges);
	CHECK_U64(take(&ranges, 90), 10);
	unwind_ranges_free(&ranges);
}

/* Whatever is taken and given up in whatever order: no place is two ones'. */
TEST(no_place_has_two_owners)
{
	struct unwind_ranges ranges = {.max = 1000};
	u32 firsts[64], counts[64], used[64];
	u8 owners[1000];
	size_t count = 0;
	u64 random = 1;

	for (int round = 0; round < 5000; round++) {
		u32 first, wanted = 1 + (random >> 33) % 60;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		if (count < 64 && !unwind_ranges_take(&ranges, wanted, &first)) {
			firsts[count] = first;
			counts[count++] = wanted;
		} else {
			size_t used_count = 0;

			/* Every third one stays. */
			for (size_t i = 0; i < count; i += 3) {
				firsts[i / 3] = firsts[i];
				counts[i / 3] = counts[i];
				used_count++;
			}
			count = used_count;
			memcpy(used, firsts, count * sizeof(*used));
			for (size_t i = 1; i < count; i++)
				for (size_t j = i; j > 0 && used[j - 1] > used[j]; j--) {
					u32 swapped = used[j];

					used[j] = used[j - 1];
					used[j - 1] = swapped;
				}
			unwind_ranges_drop(&ranges, used, count);
			unwind_ranges_reclaim(&ranges);
		}
		memset(owners, 0, sizeof(owners));
		for (size_t i = 0; i < count; i++)
			for (u32 place = firsts[i]; place < firsts[i] + counts[i]; place++)
				CHECK(place < 1000 && !owners[place]++);
	}
	unwind_ranges_free(&ranges);
}

UNIT_MAIN()
