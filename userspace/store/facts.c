/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"

#define CHUNK_BYTES (1U << 18)

struct list {
	struct record_header **items;
	size_t count;
	size_t capacity;
};

struct facts {
	struct renumber *renumber;
	struct list *lists; /* [kind number] */
	size_t list_count;
	struct map identities; /* of facts without id: (identity, kind) -> place of the last one in
				  its list */
	u8 **chunks;	       /* the records themselves */
	size_t chunk_count;
	size_t chunk_capacity;
	size_t chunk_used; /* of the last one */
	size_t chunk_size;
	u64 made_up;
	u64 capped;
};

int facts_create(struct renumber *renumber, struct facts **ret_facts)
{
	struct facts *facts = calloc(1, sizeof(*facts));
	size_t count;
	const struct schema_kind *kinds = schema_kinds(&count);

	if (!facts)
		return -ENOMEM;
	facts->renumber = renumber;
	for (size_t i = 0; i < count; i++)
		if (kinds[i].number >= facts->list_count)
			facts->list_count = kinds[i].number + 1;
	facts->lists = calloc(facts->list_count, sizeof(*facts->lists));
	if (!facts->lists) {
		facts_free(facts);
		return -ENOMEM;
	}
	*ret_facts = facts;
	return 0;
}

struct facts *facts_free(struct facts *facts)
{
	if (!facts)
		return NULL;
	for (size_t i = 0; facts->lists && i < facts->list_count; i++)
		free(facts->lists[i].items);
	for (size_t i = 0; i < facts->chunk_count; i++)
		free(facts->chunks[i]);
	free(facts->lists);
	free(facts->chunks);
	map_free(&facts->identities);
	free(facts);
	return NULL;
}

/* ---- memory ---- */

static void *facts_allocate(struct facts *facts, size_t size)
{
	size_t chunk_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;

	if (!facts->chunk_count || facts->chunk_size - facts->chunk_used < size) {
		u8 *chunk;

		if (array_reserve(&facts->chunks, &facts->chunk_capacity, facts->chunk_count + 1) <
		    0)
			return NULL;
		chunk = malloc(chunk_size);
		if (!chunk)
			return NULL;
		facts->chunks[facts->chunk_count++] = chunk;
		facts->chunk_used = 0;
		facts->chunk_size = chunk_size;
	}
	facts->chunk_used += size;
	return facts->chunks[facts->chunk_count - 1] + facts->chunk_used - size;
}

/* A copy; a text gets its terminating 0 behind it. */
static struct record_header *facts_copy(struct facts *facts, const struct record_header *record)
{
	const struct schema_kind *kind = schema_kind(record->kind);
	bool text = kind->tail == TAIL_BYTES;
	u8 *copy = facts_allocate(facts, record->size_bytes + (text ? 8 : 0));

	if (!copy)
		return NULL;
	memcpy(copy, record, record->size_bytes);
	if (text) {
		u64 length = schema_field_value(schema_tail_field(kind), record, 0);

		copy[kind->size_bytes + length] = 0;
	}
	return (struct record_header *)copy;
}

/* Takes the fact's bytes from its source's share. */
static bool facts_charge(struct facts *facts, const struct record_header *record, u64 fact_count)
{
	struct renumber_usage *usage = renumber_usage(facts->renumber, record->source);

	if (!usage || usage->fact_bytes + record->size_bytes > RENUMBER_SOURCE_BYTES ||
	    usage->facts + fact_count > RENUMBER_SOURCE_FACTS) {
		facts->capped++;
		return false;
	}
	usage->fact_bytes += record->size_bytes;
	usage->facts += fact_count;
	return true;
}

/* ---- adding ---- */

static int list_put(struct list *list, size_t place, struct record_header *record)
{
	if (array_reserve(&list->items, &list->capacity, place + 1) < 0)
		return -ENOMEM;
	for (; list->count <= place; list->count++)
		list->items[list->count] = NULL;
	list->items[place] = record;
	return 0;
}

static int facts_add_with_id(struct facts *facts, struct list *list,
			     const struct record_header *record, u32 id)
{
	struct record_header *copy;

	if (!id || (id <= list->count && list->items[id - 1]))
		return 0;
	if (!facts_charge(facts, record, 0))
		return 0;
	copy = facts_copy(facts, record);
	return copy ? list_put(list, id - 1, copy) : -ENOMEM;
}

static bool identifies(const struct schema_field *field)
{
	return field->unit == UNIT_ID || field->unit == UNIT_TEXT || field->unit == UNIT_ENUM;
}

static u64 hash_word(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

static u64 facts_identity(const struct schema_kind *kind, const struct record_header *record)
{
	u64 hash = hash_word(record->source, (u64)record->pid << 32 | record->tid);

	hash = hash_word(hash, record->name);
	for (size_t i = 0; i < kind->field_count; i++)
		if (identifies(&kind->fields[i]))
			hash = hash_word(hash, schema_field_value(&kind->fields[i], record, 0));
	return hash;
}

static bool same_bytes(const struct schema_field *field, const struct record_header *a,
		       const struct record_header *b)
{
	return memcmp((const u8 *)a + field->offset_bytes, (const u8 *)b + field->offset_bytes,
		      field->element_bytes * field->count) == 0;
}

/* Do the two differ in nothing but ts and, as *ret_counts says, COUNT fields? */
static bool same_fact(const struct schema_kind *kind, const struct record_header *a,
		      const struct record_header *b, bool *ret_counts)
{
	*ret_counts = false;
	if (a->source != b->source || a->dur != b->dur || a->pid != b->pid || a->tid != b->tid ||
	    a->name != b->name || a->size_bytes != b->size_bytes)
		return false;
	for (size_t i = 0; i < kind->field_count; i++) {
		if (same_bytes(&kind->fields[i], a, b))
			continue;
		if (kind->fields[i].unit != UNIT_COUNT)
			return false;
		*ret_counts = true;
	}
	return true;
}

static int facts_add_without_id(struct facts *facts, struct list *list,
				const struct schema_kind *kind, const struct record_header *record)
{
	u64 identity = facts_identity(kind, record);
	u64 *last = map_find(&facts->identities, identity, kind->number);
	struct record_header *copy;
	bool counts;

	if (last && same_fact(kind, list->items[*last], record, &counts)) {
		if (counts)
			memcpy(list->items[*last], record, record->size_bytes);
		return 0;
	}
	if (!facts_charge(facts, record, 1))
		return 0;
	copy = facts_copy(facts, record);
	if (!copy || list_put(list, list->count, copy) < 0)
		return -ENOMEM;
	return map_set(&facts->identities, identity, kind->number, list->count - 1);
}

int facts_add(struct facts *facts, const struct record_header *record)
{
	const struct schema_kind *kind = schema_kind(record->kind);
	const struct schema_field *id = schema_id_field(kind);
	struct list *list = &facts->lists[kind->number];

	if (!id)
		return facts_add_without_id(facts, list, kind, record);
	return facts_add_with_id(facts, list, record, schema_field_value(id, record, 0));
}

/* ---- finishing ---- */

/* A text fact with a number of its own: "#17". */
static int make_up_text(struct facts *facts, u32 number, u32 raw_id)
{
	struct {
		struct record_text text;
		char string[16];
	} record = {0};
	struct record_header *copy;

	record.text.header =
		(struct record_header){.size_bytes = sizeof(record), .kind = KIND_text};
	record.text.id = number;
	record.text.length_bytes = snprintf(record.string, sizeof(record.string), "#%u", raw_id);
	copy = facts_copy(facts, &record.text.header);
	return copy ? list_put(&facts->lists[KIND_text], number - 1, copy) : -ENOMEM;
}

/* A fact of which nothing is known but its id, which becomes its name. */
static int make_up(struct facts *facts, const struct schema_kind *kind, u32 number)
{
	struct renumber_origin origin = renumber_origin(facts->renumber, kind->number, number);
	struct record_header *record;

	facts->made_up++;
	if (kind->number == KIND_text)
		return make_up_text(facts, number, origin.id);
	record = facts_allocate(facts, kind->size_bytes);
	if (!record)
		return -ENOMEM;
	schema_record_clear(kind, record);
	for (size_t i = 0; i < kind->field_count; i++)
		if (kind->fields[i].unit == UNIT_ID || kind->fields[i].unit == UNIT_TEXT)
			schema_field_set(&kind->fields[i], record, 0, 0);
	record->source = origin.source;
	schema_field_set(schema_id_field(kind), record, 0, number);
	if (kind->number != KIND_stack) {
		record->name = renumber_invent(facts->renumber, KIND_text);
		if (!record->name || make_up_text(facts, record->name, origin.id) < 0)
			return -ENOMEM;
	} else {
		schema_field_set(schema_tail_field(kind), record, 0, 0);
	}
	return list_put(&facts->lists[kind->number], number - 1, record);
}

static int make_up_missing(struct facts *facts, const struct schema_kind *kind)
{
	struct list *list = &facts->lists[kind->number];
	u32 count = renumber_count(facts->renumber, kind->number);

	for (u32 number = 1; number <= count; number++) {
		int result;

		if (number <= list->count && list->items[number - 1])
			continue;
		result = make_up(facts, kind, number);
		if (result < 0)
			return result;
	}
	return 0;
}

struct timed {
	struct record_header *record;
	size_t place;
};

static int compare_timed(const void *a, const void *b)
{
	const struct timed *first = a, *second = b;

	if (first->record->ts != second->record->ts)
		return first->record->ts < second->record->ts ? -1 : 1;
	return (first->place > second->place) - (first->place < second->place);
}

static int list_sort(struct list *list)
{
	struct timed *timed _cleanup_free_ = NULL;

	if (list->count < 2)
		return 0;
	timed = malloc(list->count * sizeof(*timed));
	if (!timed)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		timed[i] = (struct timed){.record = list->items[i], .place = i};
	qsort(timed, list->count, sizeof(*timed), compare_timed);
	for (size_t i = 0; i < list->count; i++)
		list->items[i] = timed[i].record;
	return 0;
}

int facts_finish(struct facts *facts)
{
	size_t count;
	const struct schema_kind *kinds = schema_kinds(&count);
	int result = 0;

	/* Texts last: the others make up texts for their names. */
	for (size_t i = 0; i < count && result == 0; i++) {
		if (kinds[i].shape != SHAPE_FACT || kinds[i].number == KIND_text)
			continue;
		if (schema_id_field(&kinds[i]))
			result = make_up_missing(facts, &kinds[i]);
		else
			result = list_sort(&facts->lists[kinds[i].number]);
	}
	if (result == 0)
		result = make_up_missing(facts, schema_kind(KIND_text));
	map_free(&facts->identities);
	return result;
}

u64 facts_made_up(const struct facts *facts)
{
	return facts->made_up;
}

u64 facts_capped(const struct facts *facts)
{
	return facts->capped;
}

const struct record_header *const *facts_list(const struct facts *facts, u16 kind,
					      size_t *ret_count)
{
	if (kind >= facts->list_count) {
		*ret_count = 0;
		return NULL;
	}
	*ret_count = facts->lists[kind].count;
	return (const struct record_header *const *)facts->lists[kind].items;
}
