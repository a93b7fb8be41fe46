/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "base/map.h"

static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

TEST(empty_map_finds_and_removes_nothing)
{
	_cleanup_map_ struct map map = {};

	CHECK(map_find(&map, 0, 0) == NULL);
	CHECK(!map_remove(&map, 0, 0));
}

TEST(any_key_is_a_key)
{
	static const u64 keys[] = {0, 1, UINT64_MAX, 1ULL << 63, 0x9e3779b97f4a7c15ULL};
	_cleanup_map_ struct map map = {};

	for (size_t a = 0; a < ARRAY_SIZE(keys); a++)
		for (size_t b = 0; b < ARRAY_SIZE(keys); b++)
			CHECK(map_set(&map, keys[a], keys[b], a * 100 + b) == 0);
	CHECK_U64(map.count, 25);
	for (size_t a = 0; a < ARRAY_SIZE(keys); a++) {
		for (size_t b = 0; b < ARRAY_SIZE(keys); b++) {
			u64 *value = map_find(&map, keys[a], keys[b]);

			CHECK(value && *value == a * 100 + b);
		}
	}
}

TEST(set_replaces)
{
	_cleanup_map_ struct map map = {};

	CHECK(map_set(&map, 1, 2, 3) == 0);
	CHECK(map_set(&map, 1, 2, 4) == 0);
	CHECK_U64(map.count, 1);
	CHECK_U64(*map_find(&map, 1, 2), 4);
	*map_find(&map, 1, 2) = 5;
	CHECK_U64(*map_find(&map, 1, 2), 5);
	CHECK(map_find(&map, 2, 1) == NULL);
}

#define MODEL_KEYS 512

/* Sets and removes by chance, against an array that knows the truth. */
TEST(behaves_like_an_array)
{
	_cleanup_map_ struct map map = {};
	u64 truth[MODEL_KEYS] = {}, state = 88172645463325252ULL;
	size_t count = 0;

	for (int step = 0; step < 200000; step++) {
		u64 key = next_random(&state) % MODEL_KEYS;

		if (next_random(&state) % 100 < (step / 20000 % 2 ? 30 : 60)) {
			count += !truth[key];
			truth[key] = (u64)step + 1;
			CHECK(map_set(&map, key * 8, key % 3, truth[key]) == 0);
		} else {
			CHECK(map_remove(&map, key * 8, key % 3) == (truth[key] != 0));
			count -= truth[key] != 0;
			truth[key] = 0;
		}
	}
	CHECK_U64(map.count, count);
	for (u64 key = 0; key < MODEL_KEYS; key++) {
		u64 *value = map_find(&map, key * 8, key % 3);

		CHECK_U64(value ? *value : 0, truth[key]);
	}
}

TEST(grows_to_many)
{
	_cleanup_map_ struct map map = {};

	for (u64 i = 0; i < 300000; i++)
		CHECK(map_set(&map, i << 12, i << 40, i) == 0);
	CHECK_U64(map.count, 300000);
	CHECK_U64(map.capacity & (map.capacity - 1), 0);
	for (u64 i = 0; i < 300000; i++) {
		u64 *value = map_find(&map, i << 12, i << 40);

		CHECK(value && *value == i);
	}
}

TEST(strings_get_dense_numbers)
{
	struct string_table table = {};

	CHECK(string_table_find(&table, "a", 1) == -1);
	CHECK(string_table_add(&table, "a", 1) == 0);
	CHECK(string_table_add(&table, "", 0) == 1);
	CHECK(string_table_add(&table, "ab", 2) == 2);
	CHECK(string_table_add(&table, "a\0", 2) == 3);
	CHECK(string_table_add(&table, "abX", 2) == 2);
	CHECK(string_table_add(&table, "a", 1) == 0);
	CHECK(string_table_find(&table, "", 0) == 1);
	CHECK(string_table_find(&table, "b", 1) == -1);
	CHECK_STRING(table.strings[2], "ab");
	CHECK_U64(table.count, 4);
	string_table_free(&table);
	CHECK_U64(table.count, 0);
}

TEST(many_strings)
{
	struct string_table table = {};
	char name[64];

	for (int i = 0; i < 100000; i++) {
		int length = snprintf(name, sizeof(name), "function_number_%d_%d", i % 7, i);

		CHECK(string_table_add(&table, name, (size_t)length) == i);
	}
	for (int i = 0; i < 100000; i++) {
		int length = snprintf(name, sizeof(name), "function_number_%d_%d", i % 7, i);

		CHECK(string_table_find(&table, name, (size_t)length) == i);
	}
	string_table_free(&table);
}

UNIT_MAIN()
