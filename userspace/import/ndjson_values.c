/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/ndjson_values.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/text.h"
#include "store/record_args.h"

int import_error(const struct import_context *context, struct err *err, const char *format, ...)
{
	char message[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	return err_set(err, -EINVAL, "%s:%llu: %s", context->path,
		       (unsigned long long)context->line, message);
}

static int import_no_memory(const struct import_context *context, struct err *err)
{
	return err_errno(err, -ENOMEM, "can't read %s", context->path);
}

/* What is set, and for messages. */
struct target {
	struct import_context *context;
	const struct schema_kind *kind;
	const struct schema_field *field;
	struct err *err;
};

static int wrong_value(const struct target *target, const char *expected)
{
	return import_error(target->context, target->err, "%s of %s: expected %s",
			    target->field->name, target->kind->tag, expected);
}

/* ---- one value ---- */

typedef int import_parse(const struct target *target, json_t *value, u64 *ret_value);

static bool parse_hex(const char *string, u64 *ret_value)
{
	unsigned long long value;
	char *end;

	if (strncmp(string, "0x", 2) != 0 || !string[2] || strlen(string) > 18)
		return false;
	if (strspn(string + 2, "0123456789abcdefABCDEF") != strlen(string + 2))
		return false;
	value = strtoull(string, &end, 16);
	*ret_value = value;
	return true;
}

/* Numbers beyond 2^63 are written as hex, which JSON readers do not round. */
static int parse_integer(const struct target *target, json_t *value, u64 *ret_value)
{
	unsigned bytes = target->field->element_bytes;
	u64 number;

	if (json_is_string(value)) {
		if (!parse_hex(json_string_value(value), &number))
			return wrong_value(target, "an integer, or \"0x...\"");
	} else if (json_is_integer(value) && json_integer_value(value) >= 0) {
		number = json_integer_value(value);
	} else {
		return wrong_value(target, "an integer that is not negative");
	}
	if (bytes < 8 && number >> (8 * bytes))
		return import_error(target->context, target->err,
				    "%s of %s: %llu does not fit %u bits", target->field->name,
				    target->kind->tag, (unsigned long long)number, 8 * bytes);
	*ret_value = number;
	return 0;
}

static int parse_signed(const struct target *target, json_t *value, u64 *ret_value)
{
	s64 number = json_integer_value(value);

	if (!json_is_integer(value))
		return wrong_value(target, "an integer");
	if (schema_field_signed(target->field, number) != number)
		return import_error(target->context, target->err,
				    "%s of %s: %lld does not fit %u bits", target->field->name,
				    target->kind->tag, (long long)number,
				    8 * target->field->element_bytes);
	*ret_value = number;
	return 0;
}

static int parse_id(const struct target *target, json_t *value, u64 *ret_value)
{
	u32 id;
	int result;

	if (!json_is_string(value) || !json_string_length(value))
		return wrong_value(target, "a string: what the id stands for");
	result = import_label_id(target->context, schema_kind_by_tag(target->field->reference),
				 json_string_value(value), json_string_length(value), &id);
	if (result < 0)
		return import_no_memory(target->context, target->err);
	*ret_value = id;
	return 0;
}

static int parse_text(const struct target *target, json_t *value, u64 *ret_value)
{
	struct import_context *context = target->context;
	u32 id;

	if (!json_is_string(value))
		return wrong_value(target, "a string");
	if (text_ids_get(&context->source->texts, context->batch, json_string_value(value), &id) <
	    0)
		return import_no_memory(context, target->err);
	*ret_value = id;
	return 0;
}

static int parse_enum(const struct target *target, json_t *value, u64 *ret_value)
{
	const char *enum_name = target->field->reference, *tag;
	const struct schema_enum_value *values, *found;
	struct nearest nearest = {0};
	size_t count;

	if (!json_is_string(value))
		return wrong_value(target, "a string: the name of a value");
	tag = json_string_value(value);
	found = schema_enum_by_tag(enum_name, tag);
	if (found) {
		*ret_value = found->number;
		return 0;
	}
	nearest.word = tag;
	values = schema_enum_values(&count);
	for (size_t i = 0; i < count; i++)
		if (strcmp(values[i].enum_name, enum_name) == 0)
			nearest_offer(&nearest, values[i].tag);
	return import_error(target->context, target->err, "%s of %s: unknown value \"%.80s\"%s",
			    target->field->name, target->kind->tag, tag,
			    nearest_hint(&nearest, ""));
}

static int add_stack(const struct target *target, struct record_stack *stack, u64 *ret_id)
{
	struct import_source *source = target->context->source;
	size_t before = source->stacks.count;
	s64 number = string_table_add(&source->stacks, (const char *)&stack->end,
				      sizeof(*stack) - offsetof(struct record_stack, end) +
					      stack->depth * sizeof(u64));

	if (number < 0)
		return import_no_memory(target->context, target->err);
	stack->id = number + 1;
	if ((size_t)number == before && batch_add(target->context->batch, &stack->header) < 0)
		return import_no_memory(target->context, target->err);
	*ret_id = number + 1;
	return 0;
}

static int parse_stack(const struct target *target, json_t *value, u64 *ret_value)
{
	size_t depth = json_array_size(value), size = sizeof(struct record_stack) + depth * 8;
	struct record_stack *stack _cleanup_free_ = NULL;
	u64 *addresses;

	if (!json_is_array(value) || size > RECORD_SIZE_MAX_BYTES)
		return wrong_value(target, "an array of at most 8,000 addresses \"0x...\"");
	if (!depth) {
		*ret_value = 0;
		return 0;
	}
	stack = calloc(1, size);
	if (!stack)
		return import_no_memory(target->context, target->err);
	stack->header = (struct record_header){
		.size_bytes = size, .kind = KIND_stack, .source = target->context->source->source};
	stack->depth = depth;
	stack->end = target->context->stack_end;
	stack->guessed = target->context->stack_guessed;
	stack->guessed_first = target->context->stack_guessed_first;
	stack->guessed_rest = target->context->stack_guessed_rest;
	addresses = (u64 *)(stack + 1);
	for (size_t i = 0; i < depth; i++) {
		const char *string = json_string_value(json_array_get(value, i));

		if (!string || !parse_hex(string, &addresses[i]))
			return wrong_value(target, "an array of addresses \"0x...\"");
	}
	return add_stack(target, stack, ret_value);
}

static import_parse *const parsers[] = {
	[UNIT_TIME] = parse_integer,  [UNIT_NS] = parse_integer,     [UNIT_BYTES] = parse_integer,
	[UNIT_COUNT] = parse_integer, [UNIT_NUMBER] = parse_integer, [UNIT_ID] = parse_id,
	[UNIT_ENUM] = parse_enum,     [UNIT_TEXT] = parse_text,	     [UNIT_STACK] = parse_stack,
	[UNIT_TASK] = parse_integer,  [UNIT_ADDR] = parse_integer,   [UNIT_HEX] = parse_integer,
	[UNIT_CHARS] = parse_integer, [UNIT_SIGNED] = parse_signed,  [UNIT_PAD] = parse_integer,
};

/* ---- arrays ---- */

static int set_chars(const struct target *target, json_t *value, struct record_header *record)
{
	if (!json_is_string(value) || json_string_length(value) > target->field->count)
		return import_error(target->context, target->err,
				    "%s of %s: expected a string of at most %u bytes",
				    target->field->name, target->kind->tag, target->field->count);
	memcpy((u8 *)record + target->field->offset_bytes, json_string_value(value),
	       json_string_length(value));
	return 0;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c | 0x20) : NULL;

	return found ? found - digits : -1;
}

static int set_hex(const struct target *target, json_t *value, struct record_header *record)
{
	u8 *bytes = (u8 *)record + target->field->offset_bytes;
	const char *string = json_string_value(value);
	size_t length = json_string_length(value);

	if (!string || length % 2 || length / 2 > target->field->count)
		return import_error(target->context, target->err,
				    "%s of %s: expected at most %u bytes as hex digits",
				    target->field->name, target->kind->tag, target->field->count);
	for (size_t i = 0; i < length / 2; i++) {
		int high = hex_digit(string[2 * i]), low = hex_digit(string[2 * i + 1]);

		if (high < 0 || low < 0)
			return wrong_value(target, "hex digits");
		bytes[i] = high << 4 | low;
	}
	return 0;
}

static int set_array(const struct target *target, json_t *value, struct record_header *record)
{
	size_t count = json_array_size(value);

	if (!json_is_array(value) || count > target->field->count)
		return import_error(target->context, target->err,
				    "%s of %s: expected an array of at most %u values",
				    target->field->name, target->kind->tag, target->field->count);
	for (size_t i = 0; i < count; i++) {
		u64 number;
		int result =
			parsers[target->field->unit](target, json_array_get(value, i), &number);

		if (result < 0)
			return result;
		schema_field_set(target->field, record, i, number);
	}
	return 0;
}

int import_set_field(struct import_context *context, const struct schema_kind *kind,
		     const struct schema_field *field, json_t *value, struct record_header *record,
		     struct err *err)
{
	struct target target = {.context = context, .kind = kind, .field = field, .err = err};
	u64 number;
	int result;

	if (field->unit == UNIT_CHARS)
		return set_chars(&target, value, record);
	if (field->unit == UNIT_HEX && field->count > 1)
		return set_hex(&target, value, record);
	if (field->count > 1)
		return set_array(&target, value, record);
	result = parsers[field->unit](&target, value, &number);
	if (result < 0)
		return result;
	schema_field_set(field, record, 0, number);
	return 0;
}

/* ---- arguments ---- */

static bool arg_from_json(json_t *value, struct record_arg_value *arg)
{
	arg->type = RECORD_ARG_UNREADABLE;
	if (json_is_null(value))
		return true;
	if (json_is_string(value)) {
		arg->type = RECORD_ARG_STRING;
		arg->string = json_string_value(value);
		arg->length_bytes = json_string_length(value);
		return arg->length_bytes <= UINT16_MAX;
	}
	if (!json_is_integer(value))
		return false;
	arg->type = json_integer_value(value) < 0 ? RECORD_ARG_SIGNED : RECORD_ARG_UNSIGNED;
	arg->number = (u64)json_integer_value(value);
	return true;
}

int import_set_args(struct import_context *context, const struct schema_kind *kind, json_t *args,
		    struct record_header *record, struct err *err)
{
	const char *key;
	json_t *value;

	if (!json_is_object(args))
		return import_error(context, err, "args of %s: expected an object", kind->tag);
	json_object_foreach(args, key, value)
	{
		struct record_arg_value arg = {0};

		if (!record_arg_parse_name(key, &arg))
			return import_error(context, err,
					    "args of %s: unknown name \"%.80s\": expected arg0 to "
					    "arg%u, end.arg0, ...",
					    kind->tag, key, RECORD_ARG_PLACES - 1);
		if (!arg_from_json(value, &arg))
			return import_error(context, err,
					    "%.80s of %s: expected an integer, a string or null",
					    key, kind->tag);
		if (!record_args_add(kind, record, &arg))
			return import_error(context, err, "args of %s: too long", kind->tag);
	}
	return 0;
}

/* ---- labels ---- */

int import_label_id(struct import_context *context, const struct schema_kind *kind,
		    const char *label, size_t length, u32 *ret_id)
{
	size_t count;
	struct import_labels *labels = &context->source->labels[kind - schema_kinds(&count)];
	size_t before = labels->has_fact_capacity;
	s64 number = string_table_add(&labels->table, label, length);

	if (number < 0)
		return number;
	if (array_reserve(&labels->has_fact, &labels->has_fact_capacity, number + 1) < 0)
		return -ENOMEM;
	if (labels->has_fact_capacity > before)
		memset(labels->has_fact + before, 0, labels->has_fact_capacity - before);
	*ret_id = number + 1;
	return 0;
}
