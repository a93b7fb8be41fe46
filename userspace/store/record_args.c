/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/record_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END_PREFIX "end."

static size_t padded(size_t size_bytes)
{
	return (size_bytes + 7) & ~(size_t)7;
}

struct record_args record_args_begin(const struct schema_kind *kind,
				     const struct record_header *record)
{
	struct record_args args = {0};

	if (kind->tail != TAIL_ARGS)
		return args;
	args.at = (const u8 *)record + kind->size_bytes;
	args.size_bytes = schema_field_value(schema_tail_field(kind), record, 0);
	return args;
}

static bool is_number(unsigned type)
{
	return type == RECORD_ARG_UNSIGNED || type == RECORD_ARG_SIGNED;
}

static bool is_string(unsigned type)
{
	return type == RECORD_ARG_STRING || type == RECORD_ARG_STRING_CUT;
}

bool record_args_next(struct record_args *args, struct record_arg_value *ret_value)
{
	struct record_arg arg;
	const u8 *value;

	if (args->size_bytes < sizeof(arg))
		return false;
	memcpy(&arg, args->at, sizeof(arg));
	if (padded(arg.length_bytes) > args->size_bytes - sizeof(arg) ||
	    (is_number(arg.type) && arg.length_bytes != sizeof(u64)))
		return false;
	value = args->at + sizeof(arg);
	*ret_value = (struct record_arg_value){.type = RECORD_ARG_UNREADABLE,
					       .group = arg.group == RECORD_ARG_OF_END,
					       .place = arg.place % RECORD_ARG_PLACES};
	if (is_number(arg.type)) {
		ret_value->type = arg.type;
		memcpy(&ret_value->number, value, sizeof(ret_value->number));
	} else if (is_string(arg.type)) {
		ret_value->type = arg.type;
		ret_value->string = (const char *)value;
		ret_value->length_bytes = arg.length_bytes;
	}
	args->at = value + padded(arg.length_bytes);
	args->size_bytes -= sizeof(arg) + padded(arg.length_bytes);
	return true;
}

bool record_args_valid(const struct schema_kind *kind, const struct record_header *record)
{
	struct record_args args = record_args_begin(kind, record);
	struct record_arg_value value;

	while (record_args_next(&args, &value))
		;
	return !args.size_bytes;
}

void record_arg_name(const struct record_arg_value *value, char ret_name[RECORD_ARG_NAME_BYTES])
{
	snprintf(ret_name, RECORD_ARG_NAME_BYTES, "%sarg%u",
		 value->group == RECORD_ARG_OF_END ? END_PREFIX : "",
		 value->place % RECORD_ARG_PLACES);
}

bool record_arg_parse_name(const char *name, struct record_arg_value *ret_value)
{
	bool of_end = !strncmp(name, END_PREFIX, strlen(END_PREFIX));
	const char *rest = name + (of_end ? strlen(END_PREFIX) : 0);
	unsigned long place;
	char *end;

	if (strncmp(rest, "arg", 3) || rest[3] < '0' || rest[3] > '9')
		return false;
	place = strtoul(rest + 3, &end, 10);
	if (*end || place >= RECORD_ARG_PLACES)
		return false;
	ret_value->group = of_end ? RECORD_ARG_OF_END : RECORD_ARG_OF_BEGIN;
	ret_value->place = place;
	return true;
}

bool record_args_add(const struct schema_kind *kind, struct record_header *record,
		     const struct record_arg_value *value)
{
	const struct schema_field *length = schema_tail_field(kind);
	size_t value_bytes = is_number(value->type)   ? sizeof(u64)
			     : is_string(value->type) ? value->length_bytes
						      : 0;
	struct record_arg arg = {.type = value->type,
				 .place = value->place,
				 .group = value->group,
				 .length_bytes = value_bytes};
	size_t added = sizeof(arg) + padded(value_bytes);
	u8 *at = (u8 *)record + record->size_bytes;

	if (added > (size_t)RECORD_SIZE_MAX_BYTES - record->size_bytes)
		return false;
	memset(at, 0, added);
	memcpy(at, &arg, sizeof(arg));
	if (is_number(value->type))
		memcpy(at + sizeof(arg), &value->number, sizeof(value->number));
	else
		memcpy(at + sizeof(arg), value->string ? value->string : "", value_bytes);
	record->size_bytes += added;
	schema_field_set(length, record, 0, schema_field_value(length, record, 0) + added);
	return true;
}
