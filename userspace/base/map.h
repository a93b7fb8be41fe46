/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map from a pair of 64-bit keys to a 64-bit value, open addressing, grows as needed. Keys may be
 * anything; the memory is the caller's process's, bounded by what is put in. Zero-initialise it.
 */
#ifndef GPUPROBE_BASE_MAP_H
#define GPUPROBE_BASE_MAP_H

#include "base/types.h"

struct map_slot {
	u64 key_a;
	u64 key_b;
	u64 value;
	u64 used;
};

struct map {
	struct map_slot *slots;
	size_t capacity; /* a power of two */
	size_t count;
};

/* Inserts or replaces. 0 or -ENOMEM. */
int map_set(struct map *map, u64 key_a, u64 key_b, u64 value);
/* The value's place, valid until the next map_set; NULL when absent. */
u64 *map_find(const struct map *map, u64 key_a, u64 key_b);
bool map_remove(struct map *map, u64 key_a, u64 key_b);
void map_free(struct map *map);
#define _cleanup_map_ __attribute__((cleanup(map_free)))

/* Strings to dense numbers 0, 1, 2, ... in the order of their first appearance. Zero-initialise it. */
struct string_table {
	struct map index; /* (hash, length) chain -> number */
	char **strings;
	size_t count;
	size_t capacity;
};

/* Number of the string, entered if new; copies it. -ENOMEM on failure. */
s64 string_table_add(struct string_table *table, const char *string, size_t length);
/* -1 when it is not there. */
s64 string_table_find(const struct string_table *table, const char *string, size_t length);
void string_table_free(struct string_table *table);

#endif
