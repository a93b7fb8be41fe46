/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MAP_MINIMUM_CAPACITY 64

/* Every bit of both changes about half of the bits of the result: the halves of their product, one over the other. */
static inline __attribute__((always_inline)) u64 map_mix(u64 a, u64 b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ 0xa0761d6478bd642fULL) * (b ^ 0xe7037ed1a0b428dbULL);

	return (u64)product ^ (u64)(product >> 64);
}

static inline __attribute__((always_inline)) size_t map_home(const struct map *map, u64 key_a,
							     u64 key_b)
{
	return map_mix(key_a, key_b) & (map->capacity - 1);
}

/* The slot of the key, or the free one where it belongs. The map is never full. */
static inline __attribute__((always_inline)) struct map_slot *map_slot_of(const struct map *map,
									  u64 key_a, u64 key_b)
{
	size_t i = map_home(map, key_a, key_b);

	while (map->slots[i].used && (map->slots[i].key_a != key_a || map->slots[i].key_b != key_b))
		i = (i + 1) & (map->capacity - 1);
	return &map->slots[i];
}

static int map_grow(struct map *map)
{
	struct map grown = {.count = map->count};

	grown.capacity = map->capacity ? map->capacity * 2 : MAP_MINIMUM_CAPACITY;
	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			*map_slot_of(&grown, map->slots[i].key_a, map->slots[i].key_b) =
				map->slots[i];
	free(map->slots);
	*map = grown;
	return 0;
}

int map_set(struct map *map, u64 key_a, u64 key_b, u64 value)
{
	u64 *there = map_find(map, key_a, key_b);

	if (there) {
		*there = value;
		return 0;
	}
	if (map->count >= map->capacity / 4 * 3) {
		int result = map_grow(map);

		if (result < 0)
			return result;
	}
	*map_slot_of(map, key_a, key_b) =
		(struct map_slot){.key_a = key_a, .key_b = key_b, .value = value, .used = 1};
	map->count++;
	return 0;
}

u64 *map_find(const struct map *map, u64 key_a, u64 key_b)
{
	struct map_slot *slot;

	if (!map->count)
		return NULL;
	slot = map_slot_of(map, key_a, key_b);
	return slot->used ? &slot->value : NULL;
}

bool map_remove(struct map *map, u64 key_a, u64 key_b)
{
	size_t mask = map->capacity - 1, hole, i;
	struct map_slot *slot;

	if (!map->count)
		return false;
	slot = map_slot_of(map, key_a, key_b);
	if (!slot->used)
		return false;
	/* Later slots of the same run move up, so that no search ends at the hole before them. */
	hole = i = (size_t)(slot - map->slots);
	for (;;) {
		size_t home;

		i = (i + 1) & mask;
		if (!map->slots[i].used)
			break;
		home = map_home(map, map->slots[i].key_a, map->slots[i].key_b);
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole].used = 0;
	map->count--;
	return true;
}

void map_free(struct map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

static u64 string_hash(const char *string, size_t length)
{
	u64 hash = length;

	for (; length >= 8; length -= 8, string += 8) {
		u64 word;

		memcpy(&word, string, 8);
		hash = map_mix(hash, word);
	}
	if (length) {
		u64 word = 0;

		memcpy(&word, string, length);
		hash = map_mix(hash, word);
	}
	return hash;
}

/* Strings of one hash and length are a chain of keys: hash, hash + 1, ... Gives the number, or -1
 * and in ret_key the free key at the end of the chain. */
static s64 string_table_search(const struct string_table *table, const char *string, size_t length,
			       u64 *ret_key)
{
	u64 key = string_hash(string, length), *number;

	for (; (number = map_find(&table->index, key, length)); key++)
		if (!length || !memcmp(table->strings[*number], string, length))
			return (s64)*number;
	*ret_key = key;
	return -1;
}

s64 string_table_find(const struct string_table *table, const char *string, size_t length)
{
	u64 key;

	return string_table_search(table, string, length, &key);
}

s64 string_table_add(struct string_table *table, const char *string, size_t length)
{
	u64 key = 0;
	s64 number = string_table_search(table, string, length, &key);
	char *copy;

	if (number >= 0)
		return number;
	if (array_reserve(&table->strings, &table->capacity, table->count + 1) < 0)
		return -ENOMEM;
	copy = malloc(length + 1);
	if (!copy)
		return -ENOMEM;
	if (length)
		memcpy(copy, string, length);
	copy[length] = '\0';
	if (map_set(&table->index, key, length, table->count) < 0) {
		free(copy);
		return -ENOMEM;
	}
	table->strings[table->count] = copy;
	return (s64)table->count++;
}

void string_table_free(struct string_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->strings[i]);
	free(table->strings);
	map_free(&table->index);
	memset(table, 0, sizeof(*table));
}
