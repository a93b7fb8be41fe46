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
