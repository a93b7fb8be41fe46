/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/schema_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const char *const row_names[] = {
	[ROW_NONE] = "NONE",	 [ROW_THREAD] = "THREAD", [ROW_PROCESS] = "PROCESS",
	[ROW_STREAM] = "STREAM", [ROW_SYNC] = "SYNC",	  [ROW_DEVICE] = "DEVICE",
};

static const char *const tail_names[] = {
	[TAIL_NONE] = "NONE",
	[TAIL_BYTES] = "BYTES",
	[TAIL_ADDRESSES] = "ADDRESSES",
	[TAIL_ARGS] = "ARGS",
};

#define SHAPES_END (SHAPE_TOTAL + 1)
#define UNITS_END  (UNIT_PAD + 1)

/* ---- writing ---- */

static void write_kind(struct text *text, const struct schema_kind *kind)
{
	text_appendf(text, "kind %u %s %s %s %s %u\n", kind->number, kind->tag,
		     schema_shape_name(kind->shape), row_names[kind->row], tail_names[kind->tail],
		     kind->size_bytes);
	for (size_t i = 0; i < kind->field_count; i++) {
		const struct schema_field *field = &kind->fields[i];

		text_appendf(text, "field %s %u %u %u %s %s %llu\n", field->name,
			     field->offset_bytes, field->element_bytes, field->count,
			     schema_unit_name(field->unit), field->reference,
			     (unsigned long long)field->absent);
	}
}

void schema_text_write(struct text *text)
{
	size_t count;
	const struct schema_kind *kinds = schema_kinds(&count);
	const struct schema_enum_value *values;

	for (size_t i = 0; i < count; i++)
		write_kind(text, &kinds[i]);
	values = schema_enum_values(&count);
	for (size_t i = 0; i < count; i++)
		text_appendf(text, "enum %s %u %s\n", values[i].enum_name, values[i].number,
			     values[i].tag);
	while (text->length % 8 && !text->failed)
		text_append_char(text, '\n');
}

/* ---- parsing ---- */

#define WORDS_MAX 9
/* Far beyond what any version needs; bounds the work that a malicious table can cause. */
#define KINDS_MAX  1024
#define FIELDS_MAX 16384
#define VALUES_MAX 16384

/* Cuts the line into words; the number of words, 0 when there are too many. */
static size_t split_words(char *line, char **words)
{
	size_t count = 0;
	char *rest = NULL;

	for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (count == WORDS_MAX)
			return 0;
		words[count++] = word;
	}
	return count;
}

static bool parse_number(const char *word, u64 maximum, u64 *ret_number)
{
	unsigned long long number;
	char *end;

	if (*word < '0' || *word > '9')
		return false;
	errno = 0;
	number = strtoull(word, &end, 10);
	if (errno || *end || number > maximum)
		return false;
	*ret_number = number;
	return true;
}

/* Place of the word in a table of names, -1 when it is not there. */
static int find_name(const char *word, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], word) == 0)
			return i;
	return -1;
}

static int find_shape(const char *word)
{
	for (int shape = 0; shape < SHAPES_END; shape++)
		if (strcmp(schema_shape_name(shape), word) == 0)
			return shape;
	return -1;
}

static int find_unit(const char *word)
{
	for (int unit = 0; unit < UNITS_END; unit++)
		if (strcmp(schema_unit_name(unit), word) == 0)
			return unit;
	return -1;
}

/* 1 when the kind was taken, 0 when it contradicts itself. */
static int parse_kind(struct schema_table *table, char **words, size_t count)
{
	int shape, row, tail, result;
	u64 number, size;

	if (count < 7 || table->kind_count == KINDS_MAX)
		return 0;
	shape = find_shape(words[3]);
	row = find_name(words[4], row_names, ARRAY_SIZE(row_names));
	tail = find_name(words[5], tail_names, ARRAY_SIZE(tail_names));
	if (!parse_number(words[1], UINT16_MAX, &number) ||
	    !parse_number(words[6], RECORD_SIZE_MAX_BYTES, &size) || shape < 0 || size % 8 ||
	    size < sizeof(struct record_header))
		return 0;
	for (size_t i = 0; i < table->kind_count; i++)
		if (table->kinds[i].number == number || !strcmp(table->kinds[i].tag, words[2]))
			return 0;
	result = array_reserve(&table->kinds, &table->kind_capacity, table->kind_count + 1);
	if (result < 0)
		return result;
	table->kinds[table->kind_count++] = (struct schema_kind){
		.number = number,
		.tag = words[2],
		.shape = shape,
		.row = row < 0 ? ROW_NONE : row,
		/* A tail of a later version: there may be bytes behind the fields, which we skip.
		 */
		.tail = tail < 0 ? TAIL_BYTES : tail,
		.size_bytes = size,
		.meaning = "",
	};
	return 1;
}

/* 1 when taken, 0 when the field is not one that we can read: then it is left out. */
static int parse_field(struct schema_table *table, char **words, size_t count)
{
	struct schema_kind *kind = &table->kinds[table->kind_count - 1];
	u64 offset, bytes, elements, absent;
	int unit, result;

	if (count < 8 || table->field_count == FIELDS_MAX)
		return 0;
	unit = find_unit(words[5]);
	if (unit < 0 || !parse_number(words[2], UINT16_MAX, &offset) ||
	    !parse_number(words[3], 8, &bytes) || !parse_number(words[4], UINT16_MAX, &elements) ||
	    !parse_number(words[7], UINT64_MAX, &absent))
		return 0;
	if (!bytes || (bytes & (bytes - 1)) || !elements || offset < sizeof(struct record_header) ||
	    offset + bytes * elements > kind->size_bytes)
		return 0;
	result = array_reserve(&table->fields, &table->field_capacity, table->field_count + 1);
	if (result < 0)
		return result;
	table->fields[table->field_count++] = (struct schema_field){
		.name = words[1],
		.offset_bytes = offset,
		.element_bytes = bytes,
		.count = elements,
		.unit = unit,
		.reference = words[6],
		.absent = absent,
		.meaning = "",
	};
	kind->field_count++;
	return 1;
}

static int parse_enum(struct schema_table *table, char **words, size_t count)
{
	u64 number;
	int result;

	if (count < 4 || table->value_count == VALUES_MAX ||
	    !parse_number(words[2], UINT32_MAX, &number))
		return 0;
	result = array_reserve(&table->values, &table->value_capacity, table->value_count + 1);
	if (result < 0)
		return result;
	table->values[table->value_count++] = (struct schema_enum_value){
		.enum_name = words[1], .number = number, .tag = words[3], .meaning = ""};
	return 1;
}

/* in_kind: whether the last kind line was taken, i.e. whether fields belong to it. */
static int parse_line(struct schema_table *table, char *line, bool *in_kind)
{
	char *words[WORDS_MAX];
	size_t count = split_words(line, words);
	int result = 0;

	if (!count)
		return 0;
	if (strcmp(words[0], "kind") == 0) {
		result = parse_kind(table, words, count);
		*in_kind = result > 0;
	} else if (strcmp(words[0], "field") == 0 && *in_kind) {
		result = parse_field(table, words, count);
	} else if (strcmp(words[0], "enum") == 0) {
		result = parse_enum(table, words, count);
	}
	return result < 0 ? result : 0;
}

int schema_text_parse(const char *string, size_t length, struct schema_table *table)
{
	bool in_kind = false;
	char *rest = NULL;

	memset(table, 0, sizeof(*table));
	table->text = strndup(length ? string : "", length);
	if (!table->text)
		return -ENOMEM;
	for (char *line = strtok_r(table->text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		int result = parse_line(table, line, &in_kind);

		if (result < 0)
			return result;
	}
	/* Only now: the array has moved while it grew. */
	for (size_t i = 0, first = 0; i < table->kind_count; first += table->kinds[i++].field_count)
		if (table->kinds[i].field_count)
			table->kinds[i].fields = &table->fields[first];
	return 0;
}

void schema_table_free(struct schema_table *table)
{
	free(table->text);
	free(table->kinds);
	free(table->fields);
	free(table->values);
	memset(table, 0, sizeof(*table));
}
