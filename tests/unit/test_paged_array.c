/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/paged_array.h"

#define IN_MEMORY (PAGED_ARRAY_ITEMS * PAGED_ARRAY_PAGES)

struct item {
	u64 number, other, more; /* a page of them is no multiple of anything */
};

static u64 other_of(u64 number)
{
	return number * 0x9e3779b97f4a7c15ULL;
}

static void put(struct paged_array *array, size_t place, u64 number)
{
	*(struct item *)paged_array_change(array, place) =
		(struct item){number, other_of(number), 0};
}

static void fill(struct paged_array *array, size_t count)
{
	paged_array_init(array, sizeof(struct item));
	for (size_t i = 0; i < count; i++) {
		CHECK(paged_array_grow(array, i + 1) == 0);
		put(array, i, i);
	}
}

static void check_item(struct paged_array *array, size_t place, u64 number)
{
	struct item item = *(const struct item *)paged_array_at(array, place);

	CHECK_U64(item.number, number);
	CHECK_U64(item.other, other_of(number));
}

TEST(what_is_small_stays_in_memory)
{
	struct paged_array array;

	fill(&array, IN_MEMORY);
	for (size_t i = IN_MEMORY; i > 0; i--)
		check_item(&array, i - 1, i - 1);
	CHECK(array.fd < 0);
	CHECK(paged_array_check(&array, NULL) == 0);
	paged_array_free(&array);
}

TEST(what_is_large_comes_back_in_any_order)
{
	struct paged_array array;
	unsigned state = 1;

	fill(&array, 5 * IN_MEMORY + 7);
	CHECK(array.fd >= 0);
	for (size_t i = 0; i < array.count; i++)
		check_item(&array, i, i);
	/* Changed here and there, and read with others in between. */
	for (size_t n = 0; n < 20000; n++) {
		size_t place = (state = state * 1103515245 + 12345) % array.count;

		check_item(&array, place, place);
		put(&array, place, place);
	}
	for (size_t i = array.count; i > 0; i--)
		put(&array, i - 1, i);
	for (size_t i = 0; i < array.count; i++)
		check_item(&array, i, i + 1);
	CHECK(paged_array_check(&array, NULL) == 0);
	paged_array_free(&array);
}

TEST(what_was_never_set_is_zero)
{
	struct paged_array array;

	paged_array_init(&array, sizeof(struct item));
	CHECK(paged_array_grow(&array, 4 * IN_MEMORY) == 0);
	put(&array, 3 * IN_MEMORY, 5);
	for (size_t i = 0; i < array.count; i++)
		CHECK_U64(((const struct item *)paged_array_at(&array, i))->number,
			  i == 3 * IN_MEMORY ? 5 : 0);
	paged_array_free(&array);
}

/* As many places are written to in turns as a capture has threads. */
TEST(more_places_than_pages_are_written_to_in_turns)
{
	enum { ROWS = 3 * PAGED_ARRAY_PAGES, EACH = 2 * PAGED_ARRAY_ITEMS };
	struct paged_array array;

	paged_array_init(&array, sizeof(struct item));
	CHECK(paged_array_grow(&array, (size_t)ROWS * EACH) == 0);
	for (size_t i = 0; i < EACH; i++)
		for (size_t row = 0; row < ROWS; row++)
			put(&array, row * EACH + i, row + i);
	for (size_t i = 0; i < array.count; i++)
		check_item(&array, i, i / EACH + i % EACH);
	paged_array_free(&array);
}

TEST(a_file_that_fails_is_said_and_the_rest_is_zero)
{
	struct paged_array array;
	struct err err = {0};

	fill(&array, 2 * IN_MEMORY);
	CHECK(array.fd >= 0);
	close(array.fd);
	array.fd = open("/dev/full", O_RDWR);
	CHECK(array.fd >= 0);
	for (size_t i = 0; i < array.count; i++) {
		u64 number = ((const struct item *)paged_array_at(&array, i))->number;

		CHECK(number == i || number == 0);
	}
	CHECK(paged_array_check(&array, &err) == -ENOSPC);
	CHECK(strstr(err.message, "TMPDIR"));
	paged_array_free(&array);
}

UNIT_MAIN()
