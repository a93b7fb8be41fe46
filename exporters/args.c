/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/args.h"

#include "base/cleanup.h"
#include "base/json.h"

/* What was cut says so. */
static void append_string(struct text *text, const struct record_arg_value *value)
{
	struct text cut _cleanup_text_ = {0};

	if (value->type == RECORD_ARG_STRING) {
		json_append_string_bytes(text, value->string, value->length_bytes);
		return;
	}
	text_append_bytes(&cut, value->string, value->length_bytes);
	text_append(&cut, "...");
	json_append_string_bytes(text, text_string(&cut), cut.length);
}

void args_append_json(struct text *text, const struct record_arg_value *value)
{
	char name[RECORD_ARG_NAME_BYTES];

	record_arg_name(value, name);
	text_append_char(text, '"');
	text_append(text, name);
	text_append(text, "\":");
	switch (value->type) {
	case RECORD_ARG_UNSIGNED:
		json_append_number(text, value->number);
		break;
	case RECORD_ARG_SIGNED:
		json_append_signed(text, (s64)value->number);
		break;
	case RECORD_ARG_STRING:
	case RECORD_ARG_STRING_CUT:
		append_string(text, value);
		break;
	case RECORD_ARG_UNREADABLE:
		text_append(text, "null");
		break;
	}
}

/* ---- key=value ---- */

static bool is_key_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-';
}

/* The length of a key that '=' follows; 0: there is none here. */
static size_t key_length(const char *at, const char *end)
{
	size_t length = 0;

	while (at + length < end && is_key_character(at[length]))
		length++;
	return at + length < end && at[length] == '=' ? length : 0;
}

/* A value ends where the next key begins: it may have blanks. */
static const char *value_end(const char *at, const char *end)
{
	for (; at < end; at++)
		if (*at == ' ' && key_length(at + 1, end))
			return at;
	return end;
}

#define NUMBER_MAX_LENGTH 18 /* what certainly fits 64 bits */

/* An integer as JSON writes it. */
static bool is_integer(const char *at, size_t length)
{
	size_t sign = length && *at == '-';

	if (length == sign || length > NUMBER_MAX_LENGTH || (at[sign] == '0' && length > sign + 1))
		return false;
	for (size_t i = sign; i < length; i++)
		if (at[i] < '0' || at[i] > '9')
			return false;
	return true;
}

static s64 integer_of(const char *at, size_t length)
{
	bool negative = *at == '-';
	s64 integer = 0;

	for (size_t i = negative; i < length; i++)
		integer = integer * 10 + (at[i] - '0');
	return negative ? -integer : integer;
}

bool args_next_key_value(const struct record_arg_value *value, const char **at,
			 struct args_key_value *ret_pair)
{
	const char *end, *stop;
	size_t length;

	if (value->type != RECORD_ARG_STRING)
		return false;
	end = value->string + value->length_bytes;
	/* Only the first key may be missing: behind a value there is one. */
	if (*at >= end || (*at == value->string && !key_length(*at, end)))
		return false;
	length = key_length(*at, end);
	*ret_pair = (struct args_key_value){
		.key = *at, .key_length = length, .value = *at + length + 1};
	stop = value_end(ret_pair->value, end);
	ret_pair->value_length = (size_t)(stop - ret_pair->value);
	ret_pair->is_integer = is_integer(ret_pair->value, ret_pair->value_length);
	if (ret_pair->is_integer)
		ret_pair->integer = integer_of(ret_pair->value, ret_pair->value_length);
	*at = stop + (stop < end);
	return true;
}

bool args_append_key_values(struct text *text, const struct record_arg_value *value)
{
	const char *at = value->string;
	struct args_key_value pair;
	bool any = false;

	while (args_next_key_value(value, &at, &pair)) {
		text_append(text, any ? "," : "");
		any = true;
		json_append_string_bytes(text, pair.key, pair.key_length);
		text_append_char(text, ':');
		if (pair.is_integer)
			text_append_bytes(text, pair.value, pair.value_length);
		else
			json_append_string_bytes(text, pair.value, pair.value_length);
	}
	return any;
}

/* ---- all of a record ---- */

static bool is_text(const struct record_arg_value *value)
{
	return value->type == RECORD_ARG_STRING || value->type == RECORD_ARG_STRING_CUT;
}

bool args_is_told(const struct record_arg_value *value, bool annotation)
{
	/* Its name, and where there is no text: NULL. */
	return !annotation || (value->place != 0 && is_text(value));
}

void args_append_tail(struct text *text, const struct view *view, const struct view_event *event,
		      size_t before)
{
	bool annotation = view_annotation(view, event) != 0;
	struct record_args args = record_args_begin(event->kind, event->record);
	struct record_arg_value value;

	while (record_args_next(&args, &value)) {
		if (!args_is_told(&value, annotation))
			continue;
		text_append(text, text->length == before ? "" : ",");
		if (!annotation || !args_append_key_values(text, &value))
			args_append_json(text, &value);
	}
}

s64 args_counter_value(const struct view_event *event)
{
	struct record_args args = record_args_begin(event->kind, event->record);
	struct record_arg_value value = {0};

	while (record_args_next(&args, &value) && value.place != 1)
		;
	return (s64)value.number;
}
