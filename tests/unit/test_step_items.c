/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "steps/step_items.h"

#define PASSES_MAX \
	8 /* loads of a page: written and read by each of two sorts, and before and behind them */

struct arrays {
	struct paged_array items, launches;
	size_t *places;
	size_t row_count;
};

static void begin(struct arrays *arrays, size_t row_count)
{
	paged_array_init(&arrays->items, sizeof(struct step_item));
	paged_array_init(&arrays->launches, sizeof(struct step_item));
	arrays->row_count = row_count;
	arrays->places = calloc(row_count + 1, sizeof(*arrays->places));
	CHECK(arrays->places);
}

static void end(struct arrays *arrays)
{
	paged_array_free(&arrays->items);
	paged_array_free(&arrays->launches);
	free(arrays->places);
}

static void put(struct paged_array *array, u64 ts_ns, u32 row, u32 name)
{
	size_t place = array->count;

	CHECK(paged_array_grow(array, place + 1) == 0);
	*(struct step_item *)paged_array_change(array, place) =
		(struct step_item){ts_ns, row, name, ts_ns + 1};
}

static int merge(struct arrays *arrays, u64 cut_ns)
{
	return step_items_merge(&arrays->items, &arrays->launches, cut_ns, arrays->row_count,
				arrays->places);
}

static void check(struct arrays *arrays, size_t place, u64 ts_ns, u32 row, u32 name)
{
	struct step_item item = *(const struct step_item *)paged_array_at(&arrays->items, place);

	CHECK_U64(item.ts_ns, ts_ns);
	CHECK_U64(item.row, row);
	CHECK_U64(item.name, name);
	CHECK_U64(item.end_ns, ts_ns + 1);
}

TEST(two_arrays_become_one_by_row_and_time)
{
	static const u64 places[] = {0, 0, 3, 3, 5};
	struct arrays arrays;

	begin(&arrays, ARRAY_SIZE(places) - 1);
	put(&arrays.items, 10, 3, 1);
	put(&arrays.items, 30, 1, 2);
	put(&arrays.items, 60, 1, 3);
	put(&arrays.launches, 10, 3, 4);
	put(&arrays.launches, 20, 1, 5);
	put(&arrays.launches, 25, 1, 0); /* what it is was not seen */
	put(&arrays.launches, 40, 1, 6);
	put(&arrays.launches, 50, 2, 7);
	CHECK(merge(&arrays, 50) == 0);
	for (size_t row = 0; row < ARRAY_SIZE(places); row++)
		CHECK_U64(arrays.places[row], places[row]);
	CHECK_U64(arrays.items.count, 5);
	CHECK_U64(arrays.launches.count, 0);
	check(&arrays, 0, 20, 1, 5);
	check(&arrays, 1, 30, 1, 2);
	check(&arrays, 2, 40, 1, 6);
	check(&arrays, 3, 10, 3, 4); /* of one moment: what launches first */
	check(&arrays, 4, 10, 3, 1);
	end(&arrays);
}

TEST(those_of_one_thread_stay_where_they_are)
{
	struct arrays arrays;

	begin(&arrays, 8);
	for (unsigned i = 0; i < 1000; i++)
		put(&arrays.launches, i, 5, i % 7 + 1);
	CHECK(merge(&arrays, ~0ULL) == 0);
	CHECK_U64(arrays.items.count, 1000);
	CHECK_U64(arrays.places[5], 0);
	CHECK_U64(arrays.places[6], 1000);
	for (unsigned i = 0; i < 1000; i++)
		check(&arrays, i, i, 5, i % 7 + 1);
	end(&arrays);
}

TEST(nothing_is_merged_too)
{
	struct arrays arrays;

	begin(&arrays, 3);
	put(&arrays.items, 10, 1, 1);
	CHECK(merge(&arrays, 10) == 0);
	CHECK_U64(arrays.items.count, 0);
	CHECK_U64(arrays.places[3], 0);
	end(&arrays);
}

/* Every third row has some, as many as each other, in turns: one launches, then the next one; each eighth item is a call. */
static void check_turns(size_t threads, size_t each, u64 loads_max)
{
	size_t pages = threads * each / PAGED_ARRAY_ITEMS;
	struct arrays arrays;

	begin(&arrays, 3 * threads);
	for (size_t i = 0; i < each; i++)
		for (size_t n = 0; n < threads; n++)
			put(i % 8 ? &arrays.launches : &arrays.items, i * threads + n, 3 * n + 1,
			    i + 1);
	CHECK(arrays.launches.fd >= 0); /* is more than memory has */
	CHECK(merge(&arrays, ~0ULL) == 0);
	CHECK_U64(arrays.items.count, threads * each);
	for (size_t n = 0; n < threads; n++) {
		CHECK_U64(arrays.places[3 * n + 1], n * each);
		CHECK_U64(arrays.places[3 * n + 2], (n + 1) * each);
		for (size_t i = 0; i < each; i++)
			check(&arrays, n * each + i, i * threads + n, 3 * n + 1, i + 1);
	}
	CHECK(arrays.items.loads > pages); /* it counts */
	CHECK(arrays.items.loads <= loads_max * pages);
	CHECK(paged_array_check(&arrays.items, NULL) == 0);
	end(&arrays);
}

/* As many as there are pages in memory, and far more. */
TEST(threads_that_launch_in_turns_load_each_page_a_few_times)
{
	check_turns(PAGED_ARRAY_PAGES, 1000, PASSES_MAX);
	check_turns(300, 1000, PASSES_MAX);
	check_turns(3000, 100, PASSES_MAX);
	check_turns(5000, 60, PASSES_MAX + 2); /* 5,000 are above 64 * 64 */
}

TEST(a_file_that_fails_is_said)
{
	struct arrays arrays;
	struct err err = {0};

	begin(&arrays, 200);
	for (unsigned i = 0; i < 100000; i++)
		put(&arrays.launches, i, i % 200, 1);
	CHECK(arrays.launches.fd >= 0);
	close(arrays.launches.fd);
	arrays.launches.fd = open("/dev/full", O_RDWR);
	CHECK(arrays.launches.fd >= 0);
	put(&arrays.items, 5, 5, 1);
	for (unsigned i = 0; i < 100000; i += 256)
		((struct step_item *)paged_array_change(&arrays.launches, i))->name = 2;
	CHECK(merge(&arrays, ~0ULL) == 0);
	CHECK(paged_array_check(&arrays.items, &err) == -ENOSPC);
	CHECK(strstr(err.message, "TMPDIR"));
	end(&arrays);
}

UNIT_MAIN()
