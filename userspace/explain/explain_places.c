/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "explain/explain_parts.h"

/* Its number; -ENOMEM. */
static s64 enter(struct explain_places *places, const char *name)
{
	size_t known = places->names.count;
	s64 number = string_table_add(&places->names, name, strlen(name));

	if (number < 0 || array_reserve(&places->items, &places->capacity, places->names.count))
		return -ENOMEM;
	if ((size_t)number == known)
		places->items[number] =
			(struct explain_place){.name = places->names.strings[number]};
	return number;
}

static void add(struct explain_place *place, u64 ns, u64 count)
{
	place->ns += ns;
	place->count += count;
}

int explain_places_add(struct explain_places *places, const char *name, u64 ns, u64 count)
{
	s64 number = enter(places, name);

	if (number < 0)
		return -ENOMEM;
	add(&places->items[number], ns, count);
	return 0;
}

int explain_places_add_what(struct explain_places *places, const char *name, u32 what, u64 ns,
			    u64 count)
{
	s64 number = enter(places, name);

	if (number < 0)
		return -ENOMEM;
	add(&places->items[number], ns, count);
	places->items[number].what = what ?: places->items[number].what;
	return 0;
}

int explain_places_add_kept(struct explain_places *places, const char *name, u64 ns, u64 count)
{
	size_t mixed = (uintptr_t)name * 0x9e3779b97f4a7c15ULL >> 32;
	struct explain_kept *kept;

	if (!places->kept)
		places->kept = calloc(EXPLAIN_NAMES, sizeof(*places->kept));
	if (!places->kept)
		return -ENOMEM;
	kept = &places->kept[mixed % EXPLAIN_NAMES];
	if (kept->name != name) {
		s64 number = enter(places, name);

		if (number < 0)
			return -ENOMEM;
		*kept = (struct explain_kept){name, (u32)number};
	}
	add(&places->items[kept->number], ns, count);
	return 0;
}

int explain_places_add_pid(struct explain_places *places, const char *name, u32 pid, u64 ns)
{
	s64 number = enter(places, name);
	u64 *known = number < 0 ? NULL : map_find(&places->pids, (u64)number, pid);

	if (known)
		*known += ns;
	if (known || number < 0)
		return known ? 0 : -ENOMEM;
	return map_set(&places->pids, (u64)number, pid, ns);
}

int explain_places_merge(const struct explain_places *from, struct explain_places *to)
{
	for (size_t i = 0; i < from->names.count; i++)
		if (explain_places_add_what(to, from->items[i].name, from->items[i].what,
					    from->items[i].ns, from->items[i].count))
			return -ENOMEM;
	for (size_t i = 0; i < from->pids.capacity; i++) {
		const struct map_slot *slot = &from->pids.slots[i];

		if (slot->used && explain_places_add_pid(to, from->items[slot->key_a].name,
							 (u32)slot->key_b, slot->value))
			return -ENOMEM;
	}
	return 0;
}

static bool is_before(const struct explain_place *place, const struct explain_place *other)
{
	if (place->ns != other->ns)
		return place->ns > other->ns;
	return strcmp(place->name, other->name) < 0;
}

size_t explain_places_top(const struct explain_places *places, struct explain_place *ret_top,
			  size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < places->names.count; i++) {
		struct explain_place place = places->items[i];

		for (size_t j = 0; j < most; j++) {
			if (j == count) {
				ret_top[count++] = place;
				break;
			}
			if (is_before(&place, &ret_top[j])) {
				struct explain_place later = ret_top[j];

				ret_top[j] = place;
				place = later;
			}
		}
	}
	return count;
}

u64 explain_places_sum(const struct explain_places *places)
{
	u64 sum = 0;

	for (size_t i = 0; i < places->names.count; i++)
		sum += places->items[i].ns;
	return sum;
}

void explain_places_free(struct explain_places *places)
{
	for (size_t i = 0; i < places->names.count; i++)
		free(places->items[i].whose);
	string_table_free(&places->names);
	map_free(&places->pids);
	free(places->items);
	free(places->kept);
}

void explain_evidence_free(struct explain_evidence *evidence)
{
	explain_places_free(&evidence->places);
	explain_places_free(&evidence->threads);
	explain_places_free(&evidence->waiters);
	explain_places_free(&evidence->behind);
	explain_places_free(&evidence->at);
}
