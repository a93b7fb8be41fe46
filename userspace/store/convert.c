/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/record_args.h"

#define KIND_NUMBERS (UINT16_MAX + 1)

/* A value of an enum of theirs. */
struct convert_word {
	u32 theirs;
	u32 ours;
	bool known; /* to this build */
};

/* Those of one enum, in convert->words. */
struct convert_enum {
	const char *name;
	size_t first_word;
	size_t word_count;
};

/* How one field is copied. */
struct convert_field {
	const struct schema_field *from;
	const struct schema_field *to;
	size_t enum_place; /* of one that is an enum, in convert->enums */
};

struct convert_kind {
	const struct schema_kind *theirs;
	const struct schema_kind *ours; /* NULL: not known to this build */
	bool same_layout;
	size_t first_field; /* in convert->fields */
	size_t field_count;
};

struct convert {
	const struct schema_table *foreign;
	struct convert_kind *kinds;
	size_t kind_count;
	u16 *place; /* by their number: place in kinds plus 1 */
	struct convert_field *fields;
	size_t field_count;
	size_t field_capacity;
	struct convert_enum *enums; /* of these fields */
	size_t enum_count;
	size_t enum_capacity;
	struct convert_word *words;
	size_t word_count;
	size_t word_capacity;
};

/* Is every value of the enum the same in both tables? */
static bool same_enum(const struct schema_table *foreign, const char *enum_name)
{
	size_t count, ours = 0, theirs = 0;
	const struct schema_enum_value *values = schema_enum_values(&count);

	for (size_t i = 0; i < count; i++)
		ours += strcmp(values[i].enum_name, enum_name) == 0;
	for (size_t i = 0; i < foreign->value_count; i++) {
		const struct schema_enum_value *value = &foreign->values[i], *known;

		if (strcmp(value->enum_name, enum_name) != 0)
			continue;
		theirs++;
		known = schema_enum(enum_name, value->number);
		if (!known || strcmp(known->tag, value->tag) != 0)
			return false;
	}
	return ours == theirs;
}

static bool same_field(const struct schema_table *foreign, const struct schema_field *a,
		       const struct schema_field *b)
{
	return strcmp(a->name, b->name) == 0 && a->offset_bytes == b->offset_bytes &&
	       a->element_bytes == b->element_bytes && a->count == b->count && a->unit == b->unit &&
	       strcmp(a->reference, b->reference) == 0 && a->absent == b->absent &&
	       (a->unit != UNIT_ENUM || same_enum(foreign, a->reference));
}

static bool same_layout(const struct schema_table *foreign, const struct schema_kind *theirs,
			const struct schema_kind *ours)
{
	if (theirs->size_bytes != ours->size_bytes || theirs->tail != ours->tail ||
	    theirs->field_count != ours->field_count || theirs->number != ours->number)
		return false;
	for (size_t i = 0; i < ours->field_count; i++)
		if (!same_field(foreign, &theirs->fields[i], &ours->fields[i]))
			return false;
	return true;
}

/* A field whose name has kept its meaning: of the same unit, and an id or enum of the same thing.
 */
static bool same_meaning(const struct schema_field *theirs, const struct schema_field *ours)
{
	return theirs->unit == ours->unit && strcmp(theirs->reference, ours->reference) == 0;
}

/* Looked up once, as records have them by the million. */
static int plan_words(struct convert *convert, struct convert_enum *words)
{
	const struct schema_table *foreign = convert->foreign;

	words->first_word = convert->word_count;
	for (size_t i = 0; i < foreign->value_count; i++) {
		const struct schema_enum_value *value = &foreign->values[i], *known;

		if (strcmp(value->enum_name, words->name) != 0)
			continue;
		if (array_reserve(&convert->words, &convert->word_capacity,
				  convert->word_count + 1) < 0)
			return -ENOMEM;
		known = schema_enum_by_tag(words->name, value->tag);
		convert->words[convert->word_count++] = (struct convert_word){
			.theirs = value->number, .ours = known ? known->number : 0, .known = known};
	}
	words->word_count = convert->word_count - words->first_word;
	return 0;
}

static int plan_enum(struct convert *convert, const char *name, size_t *ret_place)
{
	size_t place = 0;

	while (place < convert->enum_count && strcmp(convert->enums[place].name, name) != 0)
		place++;
	*ret_place = place;
	if (place < convert->enum_count)
		return 0;
	if (array_reserve(&convert->enums, &convert->enum_capacity, place + 1) < 0)
		return -ENOMEM;
	convert->enums[convert->enum_count++] = (struct convert_enum){.name = name};
	return plan_words(convert, &convert->enums[place]);
}

static int plan_fields(struct convert *convert, struct convert_kind *kind)
{
	kind->first_field = convert->field_count;
	for (size_t i = 0; i < kind->theirs->field_count; i++) {
		const struct schema_field *from = &kind->theirs->fields[i];
		const struct schema_field *to = schema_field(kind->ours, from->name);
		struct convert_field field = {.from = from, .to = to};
		int result = 0;

		if (!to || to->unit == UNIT_PAD || !same_meaning(from, to))
			continue;
		if (to->unit == UNIT_ENUM)
			result = plan_enum(convert, to->reference, &field.enum_place);
		if (result == 0)
			result = array_reserve(&convert->fields, &convert->field_capacity,
					       convert->field_count + 1);
		if (result < 0)
			return result;
		convert->fields[convert->field_count++] = field;
		kind->field_count++;
	}
	return 0;
}

static int plan_kind(struct convert *convert, const struct schema_kind *theirs)
{
	struct convert_kind *kind = &convert->kinds[convert->kind_count++];

	convert->place[theirs->number] = convert->kind_count;
	kind->theirs = theirs;
	kind->ours = schema_kind_by_tag(theirs->tag);
	/* A tag never changes its meaning: one of another shape comes from a damaged table. */
	if (kind->ours && kind->ours->shape != theirs->shape)
		kind->ours = NULL;
	if (!kind->ours)
		return 0;
	kind->same_layout = same_layout(convert->foreign, theirs, kind->ours);
	return kind->same_layout ? 0 : plan_fields(convert, kind);
}

int convert_create(const struct schema_table *foreign, struct convert **ret_convert)
{
	struct convert *convert = calloc(1, sizeof(*convert));
	int result = 0;

	if (!convert)
		return -ENOMEM;
	convert->foreign = foreign;
	convert->kinds = calloc(foreign->kind_count + 1, sizeof(*convert->kinds));
	convert->place = calloc(KIND_NUMBERS, sizeof(*convert->place));
	if (!convert->kinds || !convert->place)
		result = -ENOMEM;
	for (size_t i = 0; i < foreign->kind_count && result == 0; i++)
		result = plan_kind(convert, &foreign->kinds[i]);
	if (result < 0) {
		convert_free(convert);
		return result;
	}
	*ret_convert = convert;
	return 0;
}

struct convert *convert_free(struct convert *convert)
{
	if (!convert)
		return NULL;
	free(convert->kinds);
	free(convert->place);
	free(convert->fields);
	free(convert->enums);
	free(convert->words);
	free(convert);
	return NULL;
}

/* ---- copying ---- */

/* Our number for their enum value; absent when this build has no such tag. */
static u64 convert_enum(const struct convert *convert, const struct convert_field *field,
			u64 number)
{
	const struct convert_enum *words = &convert->enums[field->enum_place];

	for (size_t i = 0; i < words->word_count; i++) {
		const struct convert_word *word = &convert->words[words->first_word + i];

		if (word->theirs == number)
			return word->known ? word->ours : field->to->absent;
	}
	return field->to->absent;
}

static bool fits(const struct schema_field *field, u64 value)
{
	if (field->unit == UNIT_SIGNED)
		return schema_field_signed(field, value) == (s64)value;
	return field->element_bytes == 8 || !(value >> (8 * field->element_bytes));
}

static void convert_value(const struct convert *convert, const struct convert_field *field,
			  const struct record_header *raw, struct record_header *out)
{
	const struct schema_field *from = field->from, *to = field->to;
	unsigned count = from->count < to->count ? from->count : to->count;

	for (unsigned i = 0; i < count; i++) {
		u64 value = schema_field_value(from, raw, i);

		if (from->count == 1 && value == from->absent)
			value = to->absent;
		else if (to->unit == UNIT_ENUM)
			value = convert_enum(convert, field, value);
		else if (to->unit == UNIT_SIGNED)
			value = schema_field_signed(from, value);
		/* What does not fit the field of this build is not known to it. */
		if (!fits(to, value))
			value = to->absent;
		schema_field_set(to, out, i, value);
	}
}

static int convert_fields(const struct convert *convert, const struct convert_kind *kind,
			  const struct record_header *raw, struct convert_room *room)
{
	struct record_header *out;
	size_t tail = raw->size_bytes - kind->theirs->size_bytes;
	u16 fixed = kind->ours->size_bytes;

	if (kind->ours->tail == TAIL_NONE)
		tail = 0;
	if (fixed + tail > RECORD_SIZE_MAX_BYTES)
		return -EINVAL;
	if (array_reserve_bytes((void **)&room->record, &room->capacity, fixed + tail, 1) < 0)
		return -ENOMEM;
	out = room->record;
	schema_record_clear(kind->ours, out);
	memcpy(out, raw, sizeof(*out));
	out->kind = kind->ours->number;
	out->size_bytes = fixed + tail;
	for (size_t i = 0; i < kind->field_count; i++)
		convert_value(convert, &convert->fields[kind->first_field + i], raw, out);
	memcpy((u8 *)out + fixed, (const u8 *)raw + kind->theirs->size_bytes, tail);
	return 0;
}

/* Does the tail hold what the record says? */
static bool tail_fits(const struct schema_kind *kind, const struct record_header *record)
{
	u64 length = schema_field_value(schema_tail_field(kind), record, 0);
	u64 room = record->size_bytes - kind->size_bytes;

	if (kind->tail == TAIL_ARGS)
		return length <= room && record_args_valid(kind, record);
	return kind->tail == TAIL_ADDRESSES ? length <= room / sizeof(u64) : length <= room;
}

int convert_record(const struct convert *convert, struct record_header *raw,
		   struct convert_room *room, struct record_header **ret_record)
{
	const struct convert_kind *kind;
	int result;

	if (!convert->place[raw->kind])
		return 0;
	kind = &convert->kinds[convert->place[raw->kind] - 1];
	if (raw->size_bytes < kind->theirs->size_bytes ||
	    (raw->size_bytes > kind->theirs->size_bytes && kind->theirs->tail == TAIL_NONE))
		return -EINVAL;
	if (!kind->ours)
		return 0;
	*ret_record = raw;
	if (!kind->same_layout) {
		result = convert_fields(convert, kind, raw, room);
		if (result < 0)
			return result;
		*ret_record = room->record;
	}
	if (kind->ours->tail != TAIL_NONE && !tail_fits(kind->ours, *ret_record))
		return -EINVAL;
	return 1;
}
