/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "store/record_order.h"

#define TEXT_MAX_BYTES 60000

struct bytes {
	u8 *data;
	size_t size;
	size_t capacity;
};

struct batch_entry {
	u64 ts;
	u64 offset; /* in events, so the order of arrival too */
};

struct batch {
	struct bytes facts;
	struct bytes events;
	struct batch_entry *entries;
	struct batch_entry *scratch; /* as large as entries, for sorting */
	size_t entry_count;
	size_t entry_capacity;
	size_t scratch_capacity;
};

int batch_create(struct batch **ret_batch)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return -ENOMEM;
	*ret_batch = batch;
	return 0;
}

struct batch *batch_free(struct batch *batch)
{
	if (!batch)
		return NULL;
	free(batch->facts.data);
	free(batch->events.data);
	free(batch->entries);
	free(batch->scratch);
	free(batch);
	return NULL;
}

void batch_clear(struct batch *batch)
{
	batch->facts.size = 0;
	batch->events.size = 0;
	batch->entry_count = 0;
}

static int bytes_append(struct bytes *bytes, const void *data, size_t size)
{
	int result = array_reserve(&bytes->data, &bytes->capacity, bytes->size + size);

	if (result < 0)
		return result;
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
	return 0;
}

int batch_add(struct batch *batch, const struct record_header *record)
{
	const struct schema_kind *kind = schema_kind(record->kind);
	struct batch_entry entry = {.ts = record->ts, .offset = batch->events.size};
	int result;

	if (kind && kind->shape == SHAPE_FACT)
		return bytes_append(&batch->facts, record, record->size_bytes);
	result = array_reserve(&batch->entries, &batch->entry_capacity, batch->entry_count + 1);
	if (result < 0)
		return result;
	result = bytes_append(&batch->events, record, record->size_bytes);
	if (result < 0)
		return result;
	batch->entries[batch->entry_count++] = entry;
	return 0;
}

size_t batch_size_bytes(const struct batch *batch)
{
	return batch->facts.size + batch->events.size;
}

u64 batch_event_count(const struct batch *batch)
{
	return batch->entry_count;
}

const void *batch_facts(const struct batch *batch, size_t *ret_size_bytes)
{
	*ret_size_bytes = batch->facts.size;
	return batch->facts.data;
}

static const struct record_header *batch_record(const struct batch *batch,
						const struct batch_entry *entry)
{
	return (const struct record_header *)(batch->events.data + entry->offset);
}

const struct record_header *batch_event(const struct batch *batch, size_t index)
{
	return batch_record(batch, &batch->entries[index]);
}

/* ---- sorting: by radix on ts, since a batch spans little time, then ties by the full order ----
 */

#define RADIX_BITS 11
#define RADIX_SIZE (1U << RADIX_BITS)

static void batch_radix_pass(struct batch *batch, u64 base, unsigned shift)
{
	struct batch_entry *swapped = batch->entries;
	u32 places[RADIX_SIZE] = {0};
	u32 place = 0;

	for (size_t i = 0; i < batch->entry_count; i++)
		places[((batch->entries[i].ts - base) >> shift) % RADIX_SIZE]++;
	for (unsigned digit = 0; digit < RADIX_SIZE; digit++) {
		u32 count = places[digit];

		places[digit] = place;
		place += count;
	}
	for (size_t i = 0; i < batch->entry_count; i++) {
		u64 digit = ((batch->entries[i].ts - base) >> shift) % RADIX_SIZE;

		batch->scratch[places[digit]++] = batch->entries[i];
	}
	batch->entries = batch->scratch;
	batch->scratch = swapped;
}

static int batch_compare(const void *a, const void *b, void *data)
{
	const struct batch_entry *first = a, *second = b;
	const struct batch *batch = data;
	int order = record_compare(batch_record(batch, first), batch_record(batch, second));

	if (order)
		return order;
	return (first->offset > second->offset) - (first->offset < second->offset);
}

static void batch_sort_ties(struct batch *batch)
{
	for (size_t start = 0, end; start < batch->entry_count; start = end) {
		for (end = start + 1; end < batch->entry_count; end++)
			if (batch->entries[end].ts != batch->entries[start].ts)
				break;
		if (end - start > 1)
			qsort_r(&batch->entries[start], end - start, sizeof(*batch->entries),
				batch_compare, batch);
	}
}

void batch_sort(struct batch *batch)
{
	u64 first = ~0ULL, last = 0;
	bool sorted = true;

	for (size_t i = 0; i < batch->entry_count; i++) {
		u64 ts = batch->entries[i].ts;

		sorted = sorted && ts >= last;
		first = ts < first ? ts : first;
		last = ts > last ? ts : last;
	}
	if (!sorted) {
		/* Without memory for the second copy: in place, slower. */
		if (array_reserve(&batch->scratch, &batch->scratch_capacity,
				  batch->entry_capacity) < 0) {
			qsort_r(batch->entries, batch->entry_count, sizeof(*batch->entries),
				batch_compare, batch);
			return;
		}
		for (unsigned shift = 0; shift < 64 && (last - first) >> shift; shift += RADIX_BITS)
			batch_radix_pass(batch, first, shift);
		/* The two arrays may have changed places: the smaller capacity holds for both. */
		if (batch->scratch_capacity > batch->entry_capacity)
			batch->scratch_capacity = batch->entry_capacity;
		else
			batch->entry_capacity = batch->scratch_capacity;
	}
	batch_sort_ties(batch);
}

/* ---- texts ---- */

int batch_add_text(struct batch *batch, u32 source, u32 id, const char *string, size_t length)
{
	struct record_text *record _cleanup_free_ = NULL;
	size_t size;

	if (length > TEXT_MAX_BYTES)
		length = TEXT_MAX_BYTES;
	size = (sizeof(*record) + length + 7) & ~(size_t)7;
	record = calloc(1, size);
	if (!record)
		return -ENOMEM;
	record->header =
		(struct record_header){.size_bytes = size, .kind = KIND_text, .source = source};
	record->id = id;
	record->length_bytes = length;
	memcpy(record + 1, string, length);
	return batch_add(batch, &record->header);
}

/* What is longer than a record can hold, with its size and a hash behind it: two that begin alike stay two. */
static char *cut_text(const char *string)
{
	u64 hash = 0xcbf29ce484222325; /* FNV-1a */
	size_t length = 0;
	char *cut;

	for (; string[length]; length++)
		hash = (hash ^ (unsigned char)string[length]) * 0x100000001b3;
	if (asprintf(&cut, "%.*s... [cut: %zu bytes, hash %016llx]", TEXT_MAX_BYTES - 100, string,
		     length, (unsigned long long)hash) < 0)
		return NULL;
	return cut;
}

int text_ids_get(struct text_ids *ids, struct batch *batch, const char *string, u32 *ret_id)
{
	struct string_table *table = ids->table;
	_cleanup_free_ char *cut = NULL;
	size_t length;
	s64 number;
	int result;

	if (!string || !*string) {
		*ret_id = 0;
		return 0;
	}
	length = strnlen(string, TEXT_MAX_BYTES);
	if (length == TEXT_MAX_BYTES) {
		string = cut = cut_text(string);
		if (!cut)
			return -ENOMEM;
		length = strlen(cut);
	}
	if (!table) {
		table = ids->table = calloc(1, sizeof(*table));
		if (!table)
			return -ENOMEM;
	}
	number = string_table_add(table, string, length);
	if (number < 0)
		return number;
	if (number == ids->sent) {
		result = batch_add_text(batch, ids->source, ids->base + number + 1, string, length);
		if (result < 0)
			return result;
		ids->sent++;
	}
	*ret_id = ids->base + number + 1;
	return 0;
}

void text_ids_free(struct text_ids *ids)
{
	if (ids->table)
		string_table_free(ids->table);
	free(ids->table);
	ids->table = NULL;
	ids->sent = 0;
}
