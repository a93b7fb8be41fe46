/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/schema.h"

#include <stdio.h>
#include <string.h>

/* ---- the rows of record.def ---- */

#define FIELD(kind, type, name, unit, reference, absent, meaning) \
	{#name,	       offsetof(struct record_##kind, name),      \
	 sizeof(type), 1,                                         \
	 UNIT_##unit,  #reference,                                \
	 absent,       meaning},
#define ARRAY(kind, type, name, count, unit, reference, absent, meaning) \
	{#name,	       offsetof(struct record_##kind, name),             \
	 sizeof(type), count,                                            \
	 UNIT_##unit,  #reference,                                       \
	 absent,       meaning},

/* clang-format off */
#define KIND(number, tag, shape, row, meaning) static const struct schema_field fields_##tag[] = {
#define END(tag) };
#include "../bpf/record.def"

/* Place of each field among those of its kind. */
#define KIND(number, tag, shape, row, meaning) enum field_place_##tag {
#define FIELD(kind, type, name, unit, reference, absent, meaning) FIELD_##kind##_##name,
#define ARRAY(kind, type, name, count, unit, reference, absent, meaning) FIELD_##kind##_##name,
#define END(tag) FIELD_##tag##_none };
#include "../bpf/record.def"

#define KIND(kind_number, kind_tag, kind_shape, kind_row, words)                                   \
	{.number = kind_number, .tag = #kind_tag, .shape = SHAPE_##kind_shape,                     \
	 .row = ROW_##kind_row, .size_bytes = sizeof(struct record_##kind_tag),                    \
	 .fields = fields_##kind_tag, .field_count = ARRAY_SIZE(fields_##kind_tag),                \
	 .meaning = words,
#define TAIL(kind_tag, tail_shape, length)                                                         \
	.tail = TAIL_##tail_shape, .tail_length = FIELD_##kind_tag##_##length,
#define END(kind_tag) },
static const struct schema_kind kinds[] = {
#include "../bpf/record.def"
};
/* clang-format on */

/* Place of each kind in kinds[], and from its number to its place plus 1: record numbers are
 * sparse. */
#define KIND(number, tag, shape, row, meaning) PLACE_##tag,
enum kind_place {
#include "../bpf/record.def"
};

#define KIND(number, tag, shape, row, meaning) [number] = PLACE_##tag + 1,
static const u8 place_of_number[] = {
#include "../bpf/record.def"
};

#define ENUM_VALUE(name, number, tag, meaning) {#name, number, #tag, meaning},
static const struct schema_enum_value enum_values[] = {
#include "../bpf/record.def"
};

#define HEADER_FIELD(name, unit, reference, absent, meaning)                                  \
	{                                                                                     \
#name, offsetof(struct record_header, name),                                  \
			sizeof(((struct record_header *)0)->name), 1, UNIT_##unit, reference, \
			absent, meaning                                                       \
	}

static const struct schema_field header_fields[] = {
	HEADER_FIELD(ts, TIME, "none", RECORD_DURATION_OPEN, "when it happened or began"),
	HEADER_FIELD(dur, NS, "none", RECORD_DURATION_OPEN,
		     "how long it lasted; absent: still open"),
	HEADER_FIELD(pid, TASK, "none", 0, "its process, as the host sees it"),
	HEADER_FIELD(tid, TASK, "none", 0, "its thread, as the host sees it"),
	HEADER_FIELD(name, TEXT, "text", 0, "its name"),
	HEADER_FIELD(stack, STACK, "stack", 0, "the call stack it happened on"),
	HEADER_FIELD(source, NUMBER, "none", 0, "the id space of its ids"),
};

/* ---- look-ups ---- */

const struct schema_kind *schema_kinds(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(kinds);
	return kinds;
}

const struct schema_kind *schema_kind(u16 number)
{
	if (number >= ARRAY_SIZE(place_of_number) || !place_of_number[number])
		return NULL;
	return &kinds[place_of_number[number] - 1];
}

const struct schema_kind *schema_kind_by_tag(const char *tag)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].tag, tag) == 0)
			return &kinds[i];
	return NULL;
}

const struct schema_field *schema_header_fields(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(header_fields);
	return header_fields;
}

const struct schema_field *schema_field(const struct schema_kind *kind, const char *name)
{
	for (size_t i = 0; i < kind->field_count; i++)
		if (strcmp(kind->fields[i].name, name) == 0)
			return &kind->fields[i];
	return NULL;
}

const struct schema_field *schema_field_or_header(const struct schema_kind *kind, const char *name)
{
	size_t count;
	const struct schema_field *header = schema_header_fields(&count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(header[i].name, name) == 0)
			return &header[i];
	return schema_field(kind, name);
}

const struct schema_enum_value *schema_enum_values(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(enum_values);
	return enum_values;
}

const struct schema_enum_value *schema_enum(const char *enum_name, u32 number)
{
	for (size_t i = 0; i < ARRAY_SIZE(enum_values); i++)
		if (enum_values[i].number == number &&
		    strcmp(enum_values[i].enum_name, enum_name) == 0)
			return &enum_values[i];
	return NULL;
}

const struct schema_enum_value *schema_enum_by_tag(const char *enum_name, const char *tag)
{
	for (size_t i = 0; i < ARRAY_SIZE(enum_values); i++)
		if (strcmp(enum_values[i].enum_name, enum_name) == 0 &&
		    strcmp(enum_values[i].tag, tag) == 0)
			return &enum_values[i];
	return NULL;
}

static const char *const unit_names[] = {
	[UNIT_TIME] = "TIME",	[UNIT_NS] = "NS",	  [UNIT_BYTES] = "BYTES",
	[UNIT_COUNT] = "COUNT", [UNIT_NUMBER] = "NUMBER", [UNIT_ID] = "ID",
	[UNIT_ENUM] = "ENUM",	[UNIT_TEXT] = "TEXT",	  [UNIT_STACK] = "STACK",
	[UNIT_TASK] = "TASK",	[UNIT_ADDR] = "ADDR",	  [UNIT_HEX] = "HEX",
	[UNIT_CHARS] = "CHARS", [UNIT_SIGNED] = "SIGNED", [UNIT_PAD] = "PAD",
};

static const char *const shape_names[] = {
	[SHAPE_FACT] = "FACT",	     [SHAPE_SPAN] = "SPAN",   [SHAPE_POINT] = "POINT",
	[SHAPE_COUNTER] = "COUNTER", [SHAPE_TOTAL] = "TOTAL",
};

const char *schema_unit_name(enum schema_unit unit)
{
	return unit < ARRAY_SIZE(unit_names) ? unit_names[unit] : "?";
}

const char *schema_shape_name(enum record_shape shape)
{
	return shape < ARRAY_SIZE(shape_names) ? shape_names[shape] : "?";
}

/* ---- values ---- */

u64 schema_field_value(const struct schema_field *field, const struct record_header *record,
		       unsigned index)
{
	const u8 *bytes = (const u8 *)record + field->offset_bytes + index * field->element_bytes;

	return schema_read_number(bytes, field->element_bytes);
}

s64 schema_field_signed(const struct schema_field *field, u64 value)
{
	unsigned unused_bits = 64 - 8 * field->element_bytes;

	return (s64)(value << unused_bits) >> unused_bits;
}

void schema_field_set(const struct schema_field *field, struct record_header *record,
		      unsigned index, u64 value)
{
	u8 *bytes = (u8 *)record + field->offset_bytes + index * field->element_bytes;

	memcpy(bytes, &value, field->element_bytes);
}

bool schema_field_absent(const struct schema_field *field, const struct record_header *record)
{
	if (field->count == 1)
		return schema_field_value(field, record, 0) == field->absent;
	for (unsigned i = 0; i < field->count; i++)
		if (schema_field_value(field, record, i))
			return false;
	return true;
}

void schema_record_clear(const struct schema_kind *kind, struct record_header *record)
{
	memset(record, 0, kind->size_bytes);
	record->size_bytes = kind->size_bytes;
	record->kind = kind->number;
	for (size_t i = 0; i < kind->field_count; i++)
		if (kind->fields[i].count == 1)
			schema_field_set(&kind->fields[i], record, 0, kind->fields[i].absent);
}

const struct schema_field *schema_id_field(const struct schema_kind *kind)
{
	return kind->field_count && !strcmp(kind->fields[0].name, "id") ? &kind->fields[0] : NULL;
}

const struct schema_field *schema_tail_field(const struct schema_kind *kind)
{
	return kind->tail == TAIL_NONE ? NULL : &kind->fields[kind->tail_length];
}

/* ---- hash ---- */

/* FNV-1a over the bytes, terminating 0 included so that "ab","c" differs from "a","bc". */
static u64 hash_string(u64 hash, const char *string)
{
	do
		hash = (hash ^ (u8)*string) * 0x100000001b3ULL;
	while (*string++);
	return hash;
}

static u64 hash_number(u64 hash, u64 number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	return hash_string(hash, digits);
}

static u64 hash_field(u64 hash, const struct schema_field *field)
{
	hash = hash_string(hash, field->name);
	hash = hash_number(hash, field->offset_bytes);
	hash = hash_number(hash, field->element_bytes);
	hash = hash_number(hash, field->count);
	hash = hash_string(hash, schema_unit_name(field->unit));
	hash = hash_string(hash, field->reference);
	return hash_number(hash, field->absent);
}

u64 schema_hash(void)
{
	u64 hash = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < ARRAY_SIZE(header_fields); i++)
		hash = hash_field(hash, &header_fields[i]);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		hash = hash_string(hash, kinds[i].tag);
		hash = hash_number(hash, kinds[i].number);
		hash = hash_number(hash, kinds[i].shape);
		hash = hash_number(hash, kinds[i].row);
		hash = hash_number(hash, kinds[i].tail);
		hash = hash_number(hash, kinds[i].size_bytes);
		for (size_t j = 0; j < kinds[i].field_count; j++)
			hash = hash_field(hash, &kinds[i].fields[j]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(enum_values); i++) {
		hash = hash_string(hash, enum_values[i].enum_name);
		hash = hash_string(hash, enum_values[i].tag);
		hash = hash_number(hash, enum_values[i].number);
	}
	return hash;
}

enum schema_loss_class schema_loss_class(u32 loss_reason)
{
	static const u8 classes[] = {
#define LOSS_CLASS(reason, class) [VALUE_loss_reason_##reason] = LOSS_CLASS_##class,
#include "../bpf/record.def"
	};

	return loss_reason < ARRAY_SIZE(classes) ? classes[loss_reason] : LOSS_CLASS_OTHER;
}

bool schema_loss_is_few(u64 lost, u64 all)
{
	return lost <= all / 1000;
}

bool schema_loss_is_found_again(u32 loss_reason)
{
	enum schema_loss_class class = schema_loss_class(loss_reason);

	return class == LOSS_CLASS_CAUSES || class == LOSS_CLASS_SIZES;
}
