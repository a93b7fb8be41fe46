/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_args.h"

#include "exporters/args.h"

static size_t begin_numbered(struct perfetto_packets *packets, u32 field, u64 name)
{
	size_t begun = protobuf_begin(&packets->body, field);

	protobuf_number(&packets->body, ANNOTATION_NAME, name);
	return begun;
}

static size_t begin_named(struct perfetto_packets *packets, u32 field, const char *name)
{
	return begin_numbered(packets, field,
			      perfetto_intern_constant(packets, PERFETTO_ANNOTATION_NAME, name));
}

/* By a part of a name, or one that moves. */
static size_t begin_copied(struct perfetto_packets *packets, const char *name, size_t length)
{
	struct text copy _cleanup_text_ = {0};
	u64 number;

	text_append_bytes(&copy, name, length);
	packets->body.failed |= copy.failed;
	number = perfetto_intern(packets, PERFETTO_ANNOTATION_NAME, text_string(&copy));
	return begin_numbered(packets, EVENT_ANNOTATION, number);
}

/* A number, or one that stands for a text: most are such. */
static bool append_number(struct perfetto_packets *packets, u32 field, u64 name,
			  const struct view_value *value)
{
	struct text *body = &packets->body;

	switch (value->type) {
	case VALUE_STRING:
		protobuf_numbers(body, field, ANNOTATION_NAME, name, ANNOTATION_INTERNED,
				 perfetto_intern_constant(packets, PERFETTO_ANNOTATION_STRING,
							  value->string));
		return true;
	case VALUE_HEX:
		protobuf_numbers(body, field, ANNOTATION_NAME, name, ANNOTATION_POINTER,
				 value->number);
		return true;
	case VALUE_S64:
		protobuf_numbers(body, field, ANNOTATION_NAME, name, ANNOTATION_SIGNED,
				 value->number);
		return true;
	case VALUE_DECIMAL:
	case VALUE_ARRAY:
		return false;
	default:
		protobuf_numbers(body, field, ANNOTATION_NAME, name, ANNOTATION_UNSIGNED,
				 value->number);
		return true;
	}
}

/* The fields of an annotation of something else. */
static void append_other(struct perfetto_packets *packets, const struct view_value *value)
{
	struct text *body = &packets->body;

	if (value->type == VALUE_DECIMAL)
		protobuf_double(body, ANNOTATION_DOUBLE, value->decimal);
	for (unsigned i = 0; value->type == VALUE_ARRAY && i < value->count; i++)
		protobuf_numbers(body, ANNOTATION_ITEM, ANNOTATION_UNSIGNED, value->numbers[i], 0,
				 0);
}

void perfetto_args_append_value(struct perfetto_packets *packets, u32 field, const char *name,
				const struct view_value *value)
{
	u64 number = perfetto_intern_constant(packets, PERFETTO_ANNOTATION_NAME, name);
	size_t begun;

	if (append_number(packets, field, number, value))
		return;
	begun = begin_numbered(packets, field, number);
	append_other(packets, value);
	protobuf_end(&packets->body, begun);
}

static void append_fields(struct perfetto_packets *packets, const struct chrome_args *args,
			  const struct view_event *event)
{
	const char *name, *open = NULL; /* the dictionary that is open, by the name of an entry */
	struct view_value value;
	size_t place = 0, dictionary = 0;

	while ((name = chrome_args_next(args, event, &place, &value))) {
		const char *arrow = strchr(name, '>');
		size_t length = arrow ? (size_t)(arrow - name) : 0;
		bool same = open && arrow && !strncmp(open, name, length + 1);

		if (open && !same)
			protobuf_end(&packets->body, dictionary);
		if (arrow && !same)
			dictionary = begin_copied(packets, name, length);
		open = arrow ? name : NULL;
		perfetto_args_append_value(packets, arrow ? ANNOTATION_ENTRY : EVENT_ANNOTATION,
					   arrow ? arrow + 1 : name, &value);
	}
	if (open)
		protobuf_end(&packets->body, dictionary);
}

/* ---- what a record ends in: differs from event to event, so nothing of it is interned but the names ---- */

static void append_bytes(struct perfetto_packets *packets, const char *string, size_t length,
			 const char *behind)
{
	struct text copy _cleanup_text_ = {0};

	text_append_bytes(&copy, string, length);
	text_append(&copy, behind);
	perfetto_append_string(packets, ANNOTATION_STRING, text_string(&copy));
	packets->body.failed |= copy.failed;
}

static void append_argument(struct perfetto_packets *packets, const struct record_arg_value *value)
{
	struct text *body = &packets->body;
	char name[RECORD_ARG_NAME_BYTES];
	size_t begun;

	if (value->type == RECORD_ARG_UNREADABLE)
		return; /* there is no null */
	record_arg_name(value, name);
	begun = begin_copied(packets, name, strlen(name));
	switch (value->type) {
	case RECORD_ARG_UNSIGNED:
		protobuf_number(body, ANNOTATION_UNSIGNED, value->number);
		break;
	case RECORD_ARG_SIGNED:
		protobuf_number(body, ANNOTATION_SIGNED, value->number);
		break;
	case RECORD_ARG_STRING:
		append_bytes(packets, value->string, value->length_bytes, "");
		break;
	case RECORD_ARG_STRING_CUT:
		append_bytes(packets, value->string, value->length_bytes, "...");
		break;
	case RECORD_ARG_UNREADABLE:
		break;
	}
	protobuf_end(body, begun);
}

/* False: it is no text of key=value. */
static bool append_key_values(struct perfetto_packets *packets,
			      const struct record_arg_value *value)
{
	struct args_key_value pair;
	const char *at = value->string;
	bool any = false;

	while (args_next_key_value(value, &at, &pair)) {
		size_t begun = begin_copied(packets, pair.key, pair.key_length);

		if (pair.is_integer)
			protobuf_number(&packets->body, ANNOTATION_SIGNED, (u64)pair.integer);
		else
			append_bytes(packets, pair.value, pair.value_length, "");
		protobuf_end(&packets->body, begun);
		any = true;
	}
	return any;
}

static void append_tail(struct perfetto_packets *packets, const struct view *view,
			const struct view_event *event)
{
	bool annotation = view_annotation(view, event) != 0;
	struct record_args args = record_args_begin(event->kind, event->record);
	struct record_arg_value value;

	while (record_args_next(&args, &value))
		if (args_is_told(&value, annotation) &&
		    (!annotation || !append_key_values(packets, &value)))
			append_argument(packets, &value);
}

void perfetto_args_append(struct perfetto_packets *packets, const struct chrome_args *args,
			  const struct view_event *event)
{
	append_fields(packets, args, event);
	append_tail(packets, args->view, event);
	if (event->open) {
		size_t begun = begin_named(packets, EVENT_ANNOTATION, "open");

		protobuf_number(&packets->body, ANNOTATION_BOOL, 1);
		protobuf_end(&packets->body, begun);
	}
}
