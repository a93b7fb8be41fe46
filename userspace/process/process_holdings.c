/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_holdings.h"

#include <stdlib.h>

#include "base/array.h"

/* The one of the same sort, number and name; NULL: there is none. */
static struct holding *find(const struct process_holdings *holdings, const struct holding *wanted)
{
	for (size_t i = 0; i < holdings->count; i++) {
		struct holding *holding = &holdings->items[i];

		if (holding->sort == wanted->sort && holding->id == wanted->id &&
		    !strcmp(holding->name, wanted->name))
			return holding;
	}
	return NULL;
}

int process_holdings_add(struct process_holdings *holdings, enum holding_sort sort, u64 id,
			 u64 bytes, const char *name)
{
	struct holding added = {sort, id, 1, bytes, (char *)name};
	/* Others are told apart by their numbers. */
	struct holding *same = sort == HOLDING_MAPPINGS ? find(holdings, &added) : NULL;

	if (same) {
		same->count++;
		same->bytes += bytes;
		return 0;
	}
	if (array_reserve(&holdings->items, &holdings->capacity, holdings->count + 1))
		return -ENOMEM;
	added.name = strdup(name);
	if (!added.name)
		return -ENOMEM;
	holdings->items[holdings->count++] = added;
	return 0;
}

void process_holdings_free(struct process_holdings *holdings)
{
	for (size_t i = 0; i < holdings->count; i++)
		free(holdings->items[i].name);
	free(holdings->items);
	*holdings = (struct process_holdings){0};
}

static bool is_same_thread(const struct holding *holding, u64 tid)
{
	return holding->sort == HOLDING_THREAD && holding->id == tid;
}

/* A thread may have given itself a name meanwhile. */
static bool had_thread(const struct process_holdings *before, u64 tid)
{
	for (size_t i = 0; i < before->count; i++)
		if (is_same_thread(&before->items[i], tid))
			return true;
	return false;
}

/* How many more there are of it, and bytes; false: none. */
static bool is_new(const struct process_holdings *before, const struct holding *holding,
		   u64 *ret_count, u64 *ret_bytes)
{
	const struct holding *old;

	*ret_count = holding->count;
	*ret_bytes = holding->bytes;
	if (holding->sort == HOLDING_THREAD)
		return !had_thread(before, holding->id);
	old = find(before, holding);
	if (!old)
		return true;
	*ret_count = holding->count > old->count ? holding->count - old->count : 0;
	*ret_bytes = holding->bytes > old->bytes ? holding->bytes - old->bytes : 0;
	return *ret_count != 0;
}

/* New threads of the same name are said once, with the first of them; 0: they have been. */
static u64 count_threads(const struct process_holdings *before,
			 const struct process_holdings *after, const struct holding *first)
{
	u64 count = 0;

	for (const struct holding *item = after->items; item < after->items + after->count;
	     item++) {
		if (item->sort != HOLDING_THREAD || strcmp(item->name, first->name) ||
		    had_thread(before, item->id))
			continue;
		if (!count && item != first)
			return 0;
		count++;
	}
	return count;
}

static void append_bytes(struct text *text, u64 bytes)
{
	if (bytes >= 1 << 20)
		text_appendf(text, " (%llu MB)", (unsigned long long)(bytes + (1 << 19)) >> 20);
	else
		text_appendf(text, " (%llu KB)", (unsigned long long)bytes >> 10);
}

static void append(struct text *text, const struct holding *holding, u64 count, u64 bytes)
{
	unsigned long long number = count;

	switch (holding->sort) {
	case HOLDING_THREAD:
		text_appendf(text, "%llu thread%s ", number, number == 1 ? "" : "s");
		text_append_terminal(text, holding->name, strlen(holding->name));
		break;
	case HOLDING_DESCRIPTOR:
		text_appendf(text, "descriptor %llu (", (unsigned long long)holding->id);
		text_append_terminal(text, holding->name, strlen(holding->name));
		text_append(text, ")");
		break;
	default:
		text_appendf(text, "%llu mapping%s %s", number, number == 1 ? "" : "s",
			     *holding->name ? "of " : "without a file");
		text_append_terminal(text, holding->name, strlen(holding->name));
		append_bytes(text, bytes);
	}
}

void process_holdings_new(const struct process_holdings *before,
			  const struct process_holdings *after, size_t items_max, struct text *text)
{
	size_t said = 0;

	for (size_t sort = 0; sort < HOLDING_SORTS; sort++)
		for (size_t i = 0; i < after->count; i++) {
			const struct holding *holding = &after->items[i];
			u64 count, bytes;

			if (holding->sort != sort || !is_new(before, holding, &count, &bytes))
				continue;
			if (sort == HOLDING_THREAD)
				count = count_threads(before, after, holding);
			if (!count || said++ >= items_max)
				continue;
			text_append(text, said > 1 ? ", " : "");
			append(text, holding, count, bytes);
		}
	if (said > items_max)
		text_appendf(text, " and %zu more", said - items_max);
}
