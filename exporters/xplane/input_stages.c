/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/input_stages.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* Names come from the target. Beyond these they are looked at again each time. */
#define KNOWN_MAX	(1U << 16)
#define NAME_LENGTH_MAX 256

enum who { WHO_RANGES = 1, WHO_FUNCTIONS = 2, WHO_CODE = WHO_RANGES | WHO_FUNCTIONS, WHO_API = 4 };

static const struct {
	enum who who;
	const char *name;
	enum input_stage stage;
} rows[] = {
#define INPUT_STAGE(who, name, category) {WHO_##who, name, INPUT_STAGE_##category},
#include "exporters/xplane/input_stages.def"
#undef INPUT_STAGE
};

static enum who who_of(u16 kind)
{
	switch (kind) {
	case KIND_range:
	case KIND_process_range:
	case KIND_usdt_span:
		return WHO_RANGES;
	case KIND_call:
		return WHO_FUNCTIONS;
	case KIND_api:
		return WHO_API;
	default:
		return 0;
	}
}

/* "ns::Loader<std::string>::next_batch(int)": "next_batch", with its length. */
static const char *last_part(const char *name, size_t *ret_length)
{
	const char *begin = name;
	size_t depth = 0;

	for (const char *at = name; *at; at++) {
		if (*at == '<' || *at == '(')
			depth++;
		else if ((*at == '>' || *at == ')') && depth)
			depth--;
		else if (at[0] == ':' && at[1] == ':' && !depth)
			begin = at + 2;
	}
	*ret_length = strcspn(begin, "<(");
	return begin;
}

/* "DataLoader" is two words, "H2D" and "VAL" are one. */
static bool begins_word(const char *begin, const char *at)
{
	return at > begin && isupper((unsigned char)at[0]) && islower((unsigned char)at[1]);
}

/* In small letters, one '_' around each word. */
static void append_words(struct text *text, const char *name, size_t length)
{
	text_append_char(text, '_');
	for (size_t i = 0; i < length && i < NAME_LENGTH_MAX; i++) {
		bool is_word = isascii((unsigned char)name[i]) && isalnum((unsigned char)name[i]);
		bool is_apart = text->length && text->data[text->length - 1] == '_';

		if ((!is_word || begins_word(name, name + i)) && !is_apart)
			text_append_char(text, '_');
		if (is_word)
			text_append_char(text, tolower((unsigned char)name[i]));
	}
	if (text->length && text->data[text->length - 1] != '_')
		text_append_char(text, '_');
}

enum input_stage input_stage_of_name(const char *name, u16 kind)
{
	struct text words _cleanup_text_ = {0};
	enum who who = who_of(kind);
	size_t length = strlen(name);

	if (who == WHO_FUNCTIONS)
		name = last_part(name, &length);
	if (who != WHO_API)
		append_words(&words, name, length);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((rows[i].who & who) &&
		    fnmatch(rows[i].name, who == WHO_API ? name : text_string(&words), 0) == 0)
			return rows[i].stage;
	return INPUT_STAGE_NONE;
}

int input_stages_find(struct input_stages *stages, const struct view_event *event,
		      enum input_stage *ret_stage)
{
	u16 kind = event->kind->number;
	const u64 *known;

	*ret_stage = INPUT_STAGE_NONE;
	if (!who_of(kind))
		return 0;
	known = map_find(&stages->known, (uintptr_t)event->name, kind);
	*ret_stage = known ? *known : input_stage_of_name(event->name, kind);
	if (known || stages->known.count >= KNOWN_MAX)
		return 0;
	return map_set(&stages->known, (uintptr_t)event->name, kind, *ret_stage);
}

void input_stages_free(struct input_stages *stages)
{
	map_free(&stages->known);
}
