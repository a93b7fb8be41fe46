/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.def at run time: what every generic part (dump, parse, validation, the table of kinds inside a
 * capture, documentation) works from. All tables are constant.
 */
#ifndef GPUPROBE_STORE_SCHEMA_H
#define GPUPROBE_STORE_SCHEMA_H

#include <string.h>

#include "base/types.h"
#include "../bpf/record.h"

enum schema_unit {
	UNIT_TIME,
	UNIT_NS,
	UNIT_BYTES,
	UNIT_COUNT,
	UNIT_NUMBER,
	UNIT_ID,
	UNIT_ENUM,
	UNIT_TEXT,
	UNIT_STACK,
	UNIT_TASK,
	UNIT_ADDR,
	UNIT_HEX,
	UNIT_CHARS,
	UNIT_SIGNED,
	UNIT_PAD,
};

enum schema_tail { TAIL_NONE, TAIL_BYTES, TAIL_ADDRESSES, TAIL_ARGS };

struct schema_field {
	const char *name;
	u16 offset_bytes; /* in the record, header included */
	u8 element_bytes; /* 1, 2, 4 or 8 */
	u16 count;	  /* 1 for a scalar */
	enum schema_unit unit;
	const char *reference; /* ENUM: the enum; ID: the tag of the fact; else "none" */
	u64 absent;
	const char *meaning;
};

struct schema_kind {
	u16 number;
	const char *tag;
	enum record_shape shape;
	enum record_row row;
	enum schema_tail tail;
	u8 tail_length; /* place of the field that says how long the tail is; of kinds of this build */
	u16 size_bytes;			   /* without tail */
	const struct schema_field *fields; /* of its own, without the header's */
	size_t field_count;
	const char *meaning;
};

struct schema_enum_value {
	const char *enum_name;
	u32 number;
	const char *tag;
	const char *meaning; /* words for people */
};

/* All kinds, in the order of record.def. */
const struct schema_kind *schema_kinds(size_t *ret_count);
/* NULL when there is none. */
const struct schema_kind *schema_kind(u16 number);
const struct schema_kind *schema_kind_by_tag(const char *tag);
/* The fields of the header (ts, dur, pid, tid, name, stack, source), common to all kinds. */
const struct schema_field *schema_header_fields(size_t *ret_count);
const struct schema_field *schema_field(const struct schema_kind *kind, const char *name);
/* "field", which does not compile where kind tag has no such field: for what looks up a field by its name. */
#define SCHEMA_FIELD(tag, field) (&#field[0 * sizeof(((struct record_##tag *)0)->field)])
/* One of the header, or of the kind: no name is in both. */
const struct schema_field *schema_field_or_header(const struct schema_kind *kind, const char *name);

const struct schema_enum_value *schema_enum_values(size_t *ret_count);
/* NULL when the number or tag is not in the enum. */
const struct schema_enum_value *schema_enum(const char *enum_name, u32 number);
const struct schema_enum_value *schema_enum_by_tag(const char *enum_name, const char *tag);

/* See LOSS_CLASS in record.def. */
enum schema_loss_class {
	LOSS_CLASS_OTHER, /* also of reasons that this build does not know */
	LOSS_CLASS_RECORDS,
	LOSS_CLASS_DURATIONS,
	LOSS_CLASS_CAUSES,
	LOSS_CLASS_SIZES,
	LOSS_CLASS_STACKS,
	LOSS_CLASS_FEW,
	LOSS_CLASS_NOTHING,
};
enum schema_loss_class schema_loss_class(u32 loss_reason);
/* Of LOSS_CLASS_FEW: are so many no loss beside all that there were, theirs included? */
bool schema_loss_is_few(u64 lost, u64 all);
/* Is it found again by everybody who reads the same events? */
bool schema_loss_is_found_again(u32 loss_reason);

const char *schema_unit_name(enum schema_unit unit);
const char *schema_shape_name(enum record_shape shape);

/* A number of 1 to 8 bytes. Each size one load of its own, instead of a call of memcpy(). Little-endian, as the files are. */
static inline u64 schema_read_number(const u8 *bytes, size_t size_bytes)
{
	u64 value = 0;
	u32 word;

	switch (size_bytes) {
	case sizeof(word):
		memcpy(&word, bytes, sizeof(word));
		return word;
	case sizeof(value):
		memcpy(&value, bytes, sizeof(value));
		return value;
	case sizeof(*bytes):
		return *bytes;
	default:
		memcpy(&value, bytes, size_bytes);
		return value;
	}
}

/* Value of a scalar field, or of element [index] of an array. The record must be at least as long as
 * its kind. */
u64 schema_field_value(const struct schema_field *field, const struct record_header *record,
		       unsigned index);
/* The number that a value of a SIGNED field stands for: schema_field_value() gives its bits. */
s64 schema_field_signed(const struct schema_field *field, u64 value);
void schema_field_set(const struct schema_field *field, struct record_header *record,
		      unsigned index, u64 value);
/* Absent as the row says; arrays: all bytes 0. For records as producers write them: in what a capture
 * reader gives, ids are renumbered and 0 is absent (view_field_absent() knows that). */
bool schema_field_absent(const struct schema_field *field, const struct record_header *record);
/* Makes it an empty record of this kind, size_bytes long: header all 0 but size and kind, every field
 * absent. */
void schema_record_clear(const struct schema_kind *kind, struct record_header *record);
/* The field "id" of kinds that have one; NULL else. */
const struct schema_field *schema_id_field(const struct schema_kind *kind);
/* The field that says how long the tail is (in bytes, or in addresses), of a kind of this build; NULL without a tail. */
const struct schema_field *schema_tail_field(const struct schema_kind *kind);

/* A hash of names, kinds and layouts: two builds with the same hash understand each other's records. */
u64 schema_hash(void);

#endif
