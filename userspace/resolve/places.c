/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Mappings of a process by their starts. Those of different times overlap. */
struct entry {
	const struct resolve_mapping *mapping;
	u64 end_max; /* of this and all before it of the process */
};

static int compare_entries(const void *a, const void *b)
{
	const struct resolve_mapping *left = ((const struct entry *)a)->mapping;
	const struct resolve_mapping *right = ((const struct entry *)b)->mapping;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

static struct entry *entries_make(const struct resolve_input *input)
{
	struct entry *entries = calloc(input->mapping_count + 1, sizeof(*entries));

	if (!entries)
		return NULL;
	for (size_t i = 0; i < input->mapping_count; i++)
		entries[i].mapping = &input->mappings[i];
	qsort(entries, input->mapping_count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < input->mapping_count; i++) {
		bool first = !i || entries[i - 1].mapping->pid != entries[i].mapping->pid;

		entries[i].end_max = entries[i].mapping->end;
		if (!first && entries[i - 1].end_max > entries[i].end_max)
			entries[i].end_max = entries[i - 1].end_max;
	}
	return entries;
}

/* How many entries begin at or before the address. */
static size_t entries_before(const struct entry *entries, size_t count,
			     const struct resolve_address *address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct resolve_mapping *mapping = entries[middle].mapping;

		if (mapping->pid < address->pid ||
		    (mapping->pid == address->pid && mapping->start <= address->address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Is it the same code under both? */
static bool is_same_code(const struct resolve_mapping *a, const struct resolve_mapping *b)
{
	return a->fd == b->fd && a->file_offset - a->start == b->file_offset - b->start &&
	       strcmp(a->path, b->path) == 0;
}

static bool is_within(const struct resolve_mapping *mapping, const struct resolve_address *address)
{
	return mapping->first_seen_ns <= address->first_ns &&
	       address->last_ns <= mapping->last_seen_ns;
}

static const struct resolve_mapping *place_find(const struct entry *entries, size_t count,
						const struct resolve_address *address)
{
	const struct resolve_mapping *only = NULL, *within = NULL;
	bool ambiguous = false;

	for (size_t i = entries_before(entries, count, address); i > 0; i--) {
		const struct resolve_mapping *mapping = entries[i - 1].mapping;

		if (mapping->pid != address->pid || entries[i - 1].end_max <= address->address)
			break;
		if (mapping->end <= address->address)
			continue;
		ambiguous |= only && !is_same_code(only, mapping);
		only = mapping;
		if (is_within(mapping, address))
			within = mapping;
	}
	return ambiguous ? within : only;
}

const struct resolve_mapping **places_find(const struct resolve_input *input)
{
	_cleanup_free_ struct entry *entries = entries_make(input);
	const struct resolve_mapping **places = calloc(input->address_count + 1, sizeof(*places));

	if (!entries || !places) {
		free(places);
		return NULL;
	}
	for (size_t i = 0; i < input->address_count; i++)
		places[i] = place_find(entries, input->mapping_count, &input->addresses[i]);
	return places;
}
