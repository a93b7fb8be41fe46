/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/renumber.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"

/* Ids are nearly always small and dense: those below DENSE_IDS of the first sources lie in arrays,
 * all others in a map. Which of both is a matter of the id and the source alone, so an id is in one
 * place. */
#define DENSE_IDS      (1U << 18)
#define DENSE_SOURCES  16
#define SPACES_MAX     16
#define REFERENCES_MAX 16

/* A field that holds an id or an enum value. */
struct reference {
	u16 offset_bytes;
	u8 element_bytes;
	u8 space;	      /* of an id */
	const u8 *enum_valid; /* of an enum: [value] is 1 when it exists, NULL for an id */
	u64 absent;
};

/* What to do with the records of one kind. */
struct plan {
	struct reference references[REFERENCES_MAX];
	unsigned count;
};

/* A space is the ids of one kind of fact. */
struct space {
	struct renumber_origin *origins; /* [number - 1] */
	size_t count;
	size_t capacity;
};

struct dense {
	u32 *numbers; /* [id], 0: not entered */
	size_t capacity;
};

struct source {
	u32 source;
	struct renumber_usage usage;
	struct dense dense[SPACES_MAX];
};

struct renumber {
	struct plan *plans; /* [kind number], for the kinds that exist */
	size_t plan_count;
	struct space spaces[SPACES_MAX];
	u16 space_kinds[SPACES_MAX];
	unsigned space_count;
	u8 (*enum_valid)[256]; /* one for each enum */
	const char **enum_names;
	size_t enum_count;
	struct source *sources;
	size_t source_count, source_capacity;
	struct map source_places;
	struct map sparse; /* (source place and space, id) -> number */
	u64 capped;
};

/* ---- the plans, from the tables of record.def ---- */

static int space_of(const struct renumber *renumber, const char *tag)
{
	const struct schema_kind *kind = schema_kind_by_tag(tag);

	for (unsigned i = 0; kind && i < renumber->space_count; i++)
		if (renumber->space_kinds[i] == kind->number)
			return i;
	return -1;
}

static const u8 *enum_valid_of(const struct renumber *renumber, const char *enum_name)
{
	for (size_t i = 0; i < renumber->enum_count; i++)
		if (strcmp(renumber->enum_names[i], enum_name) == 0)
			return renumber->enum_valid[i];
	return NULL;
}

/* The tag of the fact that the field is an id of; NULL when it is none. */
static const char *referenced_tag(const struct schema_field *field)
{
	if (field->unit == UNIT_TEXT)
		return "text";
	if (field->unit == UNIT_STACK)
		return "stack";
	return field->unit == UNIT_ID ? field->reference : NULL;
}

static void plan_field(const struct renumber *renumber, struct plan *plan,
		       const struct schema_field *field)
{
	struct reference reference = {
		.offset_bytes = field->offset_bytes,
		.element_bytes = field->element_bytes,
		.absent = field->absent,
	};
	const char *tag = referenced_tag(field);
	int space = tag ? space_of(renumber, tag) : -1;

	if (space >= 0)
		reference.space = space;
	else if (field->unit == UNIT_ENUM && field->element_bytes == 1)
		reference.enum_valid = enum_valid_of(renumber, field->reference);
	if ((space >= 0 || reference.enum_valid) && plan->count < REFERENCES_MAX)
		plan->references[plan->count++] = reference;
}

static void plan_kind(struct renumber *renumber, const struct schema_kind *kind)
{
	struct plan *plan = &renumber->plans[kind->number];
	size_t count;
	const struct schema_field *header = schema_header_fields(&count);

	for (size_t i = 0; i < kind->field_count; i++)
		plan_field(renumber, plan, &kind->fields[i]);
	for (size_t i = 0; i < count; i++)
		plan_field(renumber, plan, &header[i]);
}

/* Does another enum begin with this value? Those of one follow each other (record_enums.def). */
static bool begins_enum(const struct schema_enum_value *values, size_t i)
{
	return !i || strcmp(values[i].enum_name, values[i - 1].enum_name);
}

static int plan_enums(struct renumber *renumber)
{
	size_t count, enum_count = 0;
	const struct schema_enum_value *values = schema_enum_values(&count);

	for (size_t i = 0; i < count; i++)
		enum_count += begins_enum(values, i);
	renumber->enum_valid = calloc(enum_count + 1, sizeof(*renumber->enum_valid));
	renumber->enum_names = calloc(enum_count + 1, sizeof(*renumber->enum_names));
	if (!renumber->enum_valid || !renumber->enum_names)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		u8 *valid;

		if (begins_enum(values, i)) {
			renumber->enum_names[renumber->enum_count] = values[i].enum_name;
			renumber->enum_valid[renumber->enum_count++][0] = 1; /* absent */
		}
		valid = renumber->enum_valid[renumber->enum_count - 1];
		if (values[i].number < 256)
			valid[values[i].number] = 1;
	}
	return 0;
}

static int plan_all(struct renumber *renumber)
{
	size_t count;
	const struct schema_kind *kinds = schema_kinds(&count);
	int result = plan_enums(renumber);

	if (result < 0)
		return result;
	for (size_t i = 0; i < count; i++) {
		if (kinds[i].number >= renumber->plan_count)
			renumber->plan_count = kinds[i].number + 1;
		if (schema_id_field(&kinds[i]) && renumber->space_count < SPACES_MAX)
			renumber->space_kinds[renumber->space_count++] = kinds[i].number;
	}
	renumber->plans = calloc(renumber->plan_count, sizeof(*renumber->plans));
	if (!renumber->plans)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		plan_kind(renumber, &kinds[i]);
	return 0;
}

int renumber_create(struct renumber **ret_renumber)
{
	struct renumber *renumber = calloc(1, sizeof(*renumber));
	int result;

	if (!renumber)
		return -ENOMEM;
	result = plan_all(renumber);
	if (result < 0) {
		renumber_free(renumber);
		return result;
	}
	*ret_renumber = renumber;
	return 0;
}

struct renumber *renumber_free(struct renumber *renumber)
{
	if (!renumber)
		return NULL;
	for (size_t i = 0; i < renumber->source_count; i++)
		for (unsigned space = 0; space < SPACES_MAX; space++)
			free(renumber->sources[i].dense[space].numbers);
	for (unsigned space = 0; space < SPACES_MAX; space++)
		free(renumber->spaces[space].origins);
	free(renumber->plans);
	free(renumber->sources);
	free(renumber->enum_valid);
	free(renumber->enum_names);
	map_free(&renumber->source_places);
	map_free(&renumber->sparse);
	free(renumber);
	return NULL;
}

/* ---- ids ---- */

static struct source *source_find(const struct renumber *renumber, u32 source)
{
	u64 *place;

	/* Nearly all records come from one of the first. */
	for (size_t i = 0; i < 4 && i < renumber->source_count; i++)
		if (renumber->sources[i].source == source)
			return &renumber->sources[i];
	place = map_find(&renumber->source_places, source, 0);
	return place ? &renumber->sources[*place] : NULL;
}

static int source_enter(struct renumber *renumber, u32 source, struct source **ret_source)
{
	struct source *entered = source_find(renumber, source);

	if (!entered) {
		if (renumber->source_count == RENUMBER_SOURCES_MAX)
			return -EINVAL;
		if (array_reserve(&renumber->sources, &renumber->source_capacity,
				  renumber->source_count + 1) < 0 ||
		    map_set(&renumber->source_places, source, 0, renumber->source_count) < 0)
			return -ENOMEM;
		entered = &renumber->sources[renumber->source_count++];
		*entered = (struct source){.source = source};
	}
	*ret_source = entered;
	return 0;
}

static bool is_dense(const struct renumber *renumber, const struct source *source, u32 id)
{
	return id < DENSE_IDS && source - renumber->sources < DENSE_SOURCES;
}

static u64 sparse_key(const struct renumber *renumber, const struct source *source, unsigned space)
{
	return (u64)(source - renumber->sources) * SPACES_MAX + space;
}

static u32 id_find(const struct renumber *renumber, const struct source *source, unsigned space,
		   u32 id)
{
	const struct dense *dense = &source->dense[space];
	u64 *number;

	if (is_dense(renumber, source, id))
		return id < dense->capacity ? dense->numbers[id] : 0;
	number = map_find(&renumber->sparse, sparse_key(renumber, source, space), id);
	return number ? *number : 0;
}

static int id_store(struct renumber *renumber, struct source *source, unsigned space, u32 id,
		    u32 number)
{
	struct dense *dense = &source->dense[space];
	size_t before = dense->capacity;

	if (!is_dense(renumber, source, id))
		return map_set(&renumber->sparse, sparse_key(renumber, source, space), id, number);
	if (array_reserve(&dense->numbers, &dense->capacity, (size_t)id + 1) < 0)
		return -ENOMEM;
	if (dense->capacity > before)
		memset(dense->numbers + before, 0,
		       (dense->capacity - before) * sizeof(*dense->numbers));
	dense->numbers[id] = number;
	return 0;
}

static u32 space_add(struct space *space, u32 source, u32 id)
{
	if (array_reserve(&space->origins, &space->capacity, space->count + 1) < 0)
		return 0;
	space->origins[space->count++] = (struct renumber_origin){.source = source, .id = id};
	return space->count;
}

/* Number of an id that has none yet; 0 when the source has used up its share. */
static int id_enter(struct renumber *renumber, struct source *source, unsigned space, u32 id,
		    u32 *ret_number)
{
	u32 number;

	if (source->usage.facts >= RENUMBER_SOURCE_FACTS) {
		renumber->capped++;
		*ret_number = 0;
		return 0;
	}
	number = space_add(&renumber->spaces[space], source->source, id);
	if (!number || id_store(renumber, source, space, id, number) < 0)
		return -ENOMEM;
	source->usage.facts++;
	*ret_number = number;
	return 0;
}

static u64 reference_read(const struct reference *reference, const struct record_header *record)
{
	const u8 *bytes = (const u8 *)record + reference->offset_bytes;

	return schema_read_number(bytes, reference->element_bytes);
}

static void reference_write(const struct reference *reference, struct record_header *record,
			    u64 value)
{
	u8 *bytes = (u8 *)record + reference->offset_bytes;
	u32 word = value;

	if (reference->element_bytes == 4)
		memcpy(bytes, &word, sizeof(word));
	else
		memcpy(bytes, &value, reference->element_bytes);
}

/* A value that its enum does not have reads as absent. False when the reference is no enum. */
static bool enum_checked(const struct reference *reference, struct record_header *record, u64 value)
{
	if (!reference->enum_valid)
		return false;
	if (!reference->enum_valid[value])
		reference_write(reference, record, reference->absent);
	return true;
}

int renumber_enter(struct renumber *renumber, struct record_header *record)
{
	const struct plan *plan = &renumber->plans[record->kind];
	struct source *source;
	int result = source_enter(renumber, record->source, &source);

	if (result < 0)
		return result;
	for (unsigned i = 0; i < plan->count; i++) {
		const struct reference *reference = &plan->references[i];
		u64 value = reference_read(reference, record);
		u32 number = 0;

		if (enum_checked(reference, record, value))
			continue;
		if (value != reference->absent) {
			number = id_find(renumber, source, reference->space, value);
			if (!number)
				result = id_enter(renumber, source, reference->space, value,
						  &number);
			if (result < 0)
				return result;
		}
		reference_write(reference, record, number);
	}
	return 0;
}

bool renumber_apply(const struct renumber *renumber, struct record_header *record)
{
	const struct plan *plan = &renumber->plans[record->kind];
	const struct source *source = source_find(renumber, record->source);

	if (!source)
		return false;
	for (unsigned i = 0; i < plan->count; i++) {
		const struct reference *reference = &plan->references[i];
		u64 value = reference_read(reference, record);
		u32 number = 0;

		if (enum_checked(reference, record, value))
			continue;
		if (value != reference->absent)
			number = id_find(renumber, source, reference->space, value);
		reference_write(reference, record, number);
	}
	return true;
}

/* ---- numbers ---- */

static int space_of_kind(const struct renumber *renumber, u16 kind)
{
	for (unsigned i = 0; i < renumber->space_count; i++)
		if (renumber->space_kinds[i] == kind)
			return i;
	return -1;
}

u32 renumber_count(const struct renumber *renumber, u16 kind)
{
	int space = space_of_kind(renumber, kind);

	return space < 0 ? 0 : renumber->spaces[space].count;
}

struct renumber_origin renumber_origin(const struct renumber *renumber, u16 kind, u32 number)
{
	return renumber->spaces[space_of_kind(renumber, kind)].origins[number - 1];
}

u32 renumber_invent(struct renumber *renumber, u16 kind)
{
	return space_add(&renumber->spaces[space_of_kind(renumber, kind)], 0, 0);
}

u64 renumber_capped(const struct renumber *renumber)
{
	return renumber->capped;
}

struct renumber_usage *renumber_usage(struct renumber *renumber, u32 source)
{
	struct source *found = source_find(renumber, source);

	return found ? &found->usage : NULL;
}
