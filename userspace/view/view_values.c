/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "view/view_parts.h"

#define TAGS 16 /* the most enums have no more */

struct view_key {
	const struct schema_field *field; /* of the event, or of the fact that `through` leads to */
	const struct schema_field *through; /* NULL: the event itself */
	u16 fact_kind;
	view_compute *compute;
	const char
		*tags[TAGS]; /* of a field that is an enum, its first ones; NULL: there is none */
};

/* ---- keys ---- */

static const struct schema_field *find_field(const struct schema_kind *kind, const char *name)
{
	const struct schema_field *field = schema_field_or_header(kind, name);

	return field && field->unit != UNIT_PAD ? field : NULL;
}

/* Is it a field of the kind, or of a fact that one leads to? */
static bool parse_key(const struct schema_kind *kind, const char *name, struct view_key *key)
{
	const char *dot = strchr(name, '.');
	const struct schema_kind *fact;
	char first[64];

	if (!dot) {
		key->field = find_field(kind, name);
		return key->field != NULL;
	}
	if ((size_t)(dot - name) >= sizeof(first))
		return false;
	memcpy(first, name, dot - name);
	first[dot - name] = 0;
	key->through = find_field(kind, first);
	if (!key->through || key->through->unit != UNIT_ID)
		return false;
	fact = schema_kind_by_tag(key->through->reference);
	key->fact_kind = fact->number;
	key->field = find_field(fact, dot + 1);
	return key->field != NULL;
}

/* Is the key one of the kind? A computed value goes before a field of that name. */
static bool find_key(const struct schema_kind *kind, const char *name, struct view_key *ret_key)
{
	*ret_key = (struct view_key){.compute = view_computed(kind, name)};
	return ret_key->compute || parse_key(kind, name, ret_key);
}

static bool is_enum(const struct view_key *key)
{
	return !key->compute && key->field->unit == UNIT_ENUM && key->field->count == 1;
}

static const char *tag_of(const struct schema_field *field, u64 number)
{
	const struct schema_enum_value *value = schema_enum(field->reference, number);

	return value ? value->tag : NULL;
}

bool view_has_key(const struct schema_kind *kind, const char *name)
{
	struct view_key key;

	return find_key(kind, name, &key);
}

int view_key(const struct view *view, const char *user, const struct schema_kind *kind,
	     const char *name, const struct view_key **ret_key, struct err *err)
{
	struct view_keys *keys = view->keys;
	struct view_key found, *key;

	if (kind->shape == SHAPE_FACT)
		return err_set(err, -EINVAL, "%s: no event is a %s, which is a fact: '%s' of it",
			       user, kind->tag, name);
	if (!find_key(kind, name, &found))
		return err_set(err, -EINVAL, "%s: %s has no field '%s'", user, kind->tag, name);
	if (array_reserve(&keys->keys, &keys->capacity, keys->count + 1) < 0)
		return err_errno(err, -ENOMEM, "%s: can't look up '%s' of %s", user, name,
				 kind->tag);
	key = malloc(sizeof(*key));
	if (!key)
		return err_errno(err, -ENOMEM, "%s: can't look up '%s' of %s", user, name,
				 kind->tag);
	*key = found;
	for (u32 i = 0; is_enum(&found) && i < TAGS; i++)
		key->tags[i] = tag_of(found.field, i);
	keys->keys[keys->count++] = key;
	*ret_key = key;
	return 0;
}

/* Of computed values and texts it is not known which there are. */
static bool can_be(const struct view_key *key, const char *word)
{
	const struct schema_field *field = key->compute ? NULL : key->field;

	if (!field || field->count > 1)
		return true;
	switch (field->unit) {
	case UNIT_ENUM:
		return schema_enum_by_tag(field->reference, word) != NULL;
	case UNIT_TEXT:
	case UNIT_ID:
	case UNIT_STACK:
		return true;
	default:
		return word[0] && !word[strspn(word, "0123456789")];
	}
}

int view_key_with_value(const struct view *view, const char *user, const struct schema_kind *kind,
			const char *name, const char *word, const struct view_key **ret_key,
			struct err *err)
{
	int result = view_key(view, user, kind, name, ret_key, err);

	if (result < 0 || !word || can_be(*ret_key, word))
		return result;
	return err_set(err, -EINVAL, "%s: '%s' of %s is never '%s'", user, name, kind->tag, word);
}

void view_keys_free(struct view_keys *keys)
{
	if (!keys)
		return;
	for (size_t i = 0; i < keys->count; i++)
		free(keys->keys[i]);
	free(keys->keys);
	free(keys);
}

/* ---- values of fields ---- */

static struct view_value array_value(const struct view *view, const struct schema_field *field,
				     const struct record_header *record)
{
	const char *bytes = (const char *)record + field->offset_bytes;
	struct text text _cleanup_text_ = {0};

	if (field->unit == UNIT_CHARS)
		return value_string(view_intern(view, bytes, strnlen(bytes, field->count)));
	if (field->unit != UNIT_HEX && field->count <= VALUE_ARRAY_MAX) {
		struct view_value value = {.type = VALUE_ARRAY, .count = field->count};

		for (unsigned i = 0; i < field->count; i++)
			value.numbers[i] = schema_field_value(field, record, i);
		return value;
	}
	for (unsigned i = 0; i < field->count; i++) {
		unsigned long long number = schema_field_value(field, record, i);

		if (field->unit == UNIT_HEX)
			text_appendf(&text, "%02llx", number);
		else
			text_appendf(&text, "%s%llu", i ? "," : "", number);
	}
	return value_string(text.failed ? NULL : view_intern(view, text.data, text.length));
}

/* Its functions, innermost first. */
static struct view_value stack_value(const struct view *view, u32 pid, u32 id)
{
	struct text text _cleanup_text_ = {0};
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, id, &frames, &cut);

	for (size_t i = 0; i < count; i++) {
		text_append(&text, i ? " < " : "");
		view_frame_append_name(&frames[i], &text);
	}
	if (cut)
		text_appendf(&text, " < %s", cut);
	if (text.failed || !text.length)
		return value_string(NULL);
	return value_string(view_intern(view, text.data, text.length));
}

/* Of one that has one value, as view_field_absent(). */
static u64 absent_number(const struct schema_field *field)
{
	bool is_id =
		field->unit == UNIT_ID || field->unit == UNIT_TEXT || field->unit == UNIT_STACK;

	return is_id ? 0 : field->absent;
}

static struct view_value field_value(const struct view *view, const struct schema_field *field,
				     const struct record_header *record)
{
	u64 number;

	if (field->count > 1)
		return view_field_absent(field, record) ? value_absent()
							: array_value(view, field, record);
	number = schema_field_value(field, record, 0);
	if (number == absent_number(field))
		return value_absent();
	switch (field->unit) {
	case UNIT_ENUM:
		return value_string(tag_of(field, number));
	case UNIT_TEXT:
		return value_string(view_text(view, number));
	case UNIT_ID:
		return value_string(
			view_label(view, schema_kind_by_tag(field->reference)->number, number));
	case UNIT_STACK:
		return stack_value(view, record->pid, number);
	case UNIT_SIGNED:
		return (struct view_value){.type = VALUE_S64,
					   .number = schema_field_signed(field, number)};
	case UNIT_ADDR:
	case UNIT_HEX:
		return (struct view_value){.type = VALUE_HEX, .number = number};
	default:
		return value_u64(number);
	}
}

struct view_value view_value(const struct view *view, const struct view_key *key,
			     const struct view_event *event)
{
	const struct record_header *record = event->record;

	if (key->compute)
		return key->compute(view, event);
	if (key->through)
		record = view_fact(view, key->fact_kind,
				   schema_field_value(key->through, record, 0));
	if (!record)
		return value_string(NULL);
	if (is_enum(key)) {
		u64 number = schema_field_value(key->field, record, 0);

		if (number < TAGS && number != key->field->absent)
			return value_string(key->tags[number]);
	}
	return field_value(view, key->field, record);
}
