/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "options/options_table.h"
#include "options/profile_file.h"

#define SHOWN	   "%.100s"
#define TPU_PREFIX "tpu_"

enum profile_type { PROFILE_INTEGER, PROFILE_BOOLEAN, PROFILE_STRING };
enum profile_acts { PROFILE_NOW, PROFILE_OFF_ONLY, PROFILE_NOT_YET };

struct profile_row {
	const char *name;
	const char *member; /* of options.def; NULL: one of struct options_profile */
	size_t offset, given_offset;
	enum profile_type type;
	s64 value, minimum, maximum;
	enum profile_acts acts;
	const char *help;
};

static const struct profile_row profile_rows[] = {
#define PROFILE(name, type, value, minimum, maximum, acts, help) \
	{#name,                                                  \
	 NULL,                                                   \
	 offsetof(struct options, profile.name),                 \
	 offsetof(struct options, profile_given.name),           \
	 PROFILE_##type,                                         \
	 value,                                                  \
	 minimum,                                                \
	 maximum,                                                \
	 PROFILE_##acts,                                         \
	 help},
#define SAME(key, same)                            \
	{.name = (key),                            \
	 .member = #same,                          \
	 .offset = offsetof(struct options, same), \
	 .given_offset = offsetof(struct options, given.same)},
#include "options/profile.def"
};

static bool was_given(const struct options *options, const struct profile_row *row)
{
	return *(const bool *)((const char *)options + row->given_offset);
}

static s64 *member_of(struct options *options, const struct profile_row *row)
{
	return (s64 *)((char *)options + row->offset);
}

/* With type and range, for SAME rows those of options.def. */
static struct profile_row completed(const struct profile_row *row)
{
	struct profile_row result = *row;
	const struct option_row *same = option_rows;

	if (!row->member)
		return result;
	while (strcmp(same->member, row->member))
		same++;
	result.type = PROFILE_INTEGER;
	result.value = same->number_default;
	result.minimum = same->minimum;
	result.maximum = same->maximum;
	result.help = same->help;
	return result;
}

void profile_set_defaults(struct options *options)
{
	for (size_t i = 0; i < ARRAY_SIZE(profile_rows); i++)
		if (!profile_rows[i].member)
			*member_of(options, &profile_rows[i]) = profile_rows[i].value;
}

/* ---- one value ---- */

/* "an integer, 0 to 3" */
static const char *allowed_text(const struct profile_row *row, char *buffer, size_t size)
{
	if (row->type == PROFILE_BOOLEAN)
		snprintf(buffer, size, "true or false");
	else if (row->type == PROFILE_STRING)
		snprintf(buffer, size, "a string");
	else if (row->minimum == INT64_MIN)
		snprintf(buffer, size, "an integer");
	else if (row->maximum == INT64_MAX)
		snprintf(buffer, size, "an integer, %" PRId64 " or more", row->minimum);
	else
		snprintf(buffer, size, "an integer, %" PRId64 " to %" PRId64, row->minimum,
			 row->maximum);
	return buffer;
}

static int invalid(const struct profile_row *row, const char *value, const char *where,
		   const char *what, struct err *err)
{
	char allowed[80];

	return err_set(err, -EINVAL, "InvalidArgument: %s=" SHOWN " (" SHOWN "): %s; allowed is %s",
		       row->name, value, where, what, allowed_text(row, allowed, sizeof(allowed)));
}

static bool read_integer(const char *text, s64 *ret_number)
{
	const char *digits = text + (*text == '-');
	char *end;

	if (!*digits || strspn(digits, "0123456789") != strlen(digits))
		return false;
	/* What does not fit becomes the limit: out of range, or all there are. */
	*ret_number = strtoll(text, &end, 10);
	return true;
}

static bool read_boolean(const char *text, s64 *ret_number)
{
	static const char *const words[] = {"false", "true", "False", "True", "0", "1"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(text, words[i]) == 0) {
			*ret_number = i & 1;
			return true;
		}
	return false;
}

/* Of the right type? */
static bool read_value(const struct profile_row *row, const char *value, s64 *ret_number)
{
	if (row->type == PROFILE_INTEGER)
		return read_integer(value, ret_number);
	if (row->type == PROFILE_BOOLEAN)
		return read_boolean(value, ret_number);
	*ret_number = *value != 0;
	return true;
}

static int unknown_key(const char *key, const char *where, struct err *err)
{
	struct nearest nearest = {.word = key};
	struct text _cleanup_text_ names = {0};

	if (strncmp(key, TPU_PREFIX, strlen(TPU_PREFIX)) == 0)
		return err_set(err, -EINVAL,
			       "InvalidArgument: " SHOWN " (" SHOWN "): it is TPU-only, and "
			       "gpuprobe records GPUs; leave it out",
			       key, where);
	for (size_t i = 0; i < ARRAY_SIZE(profile_rows); i++) {
		nearest_offer(&nearest, profile_rows[i].name);
		text_appendf(&names, "%s%s", i ? ", " : "", profile_rows[i].name);
	}
	return err_set(err, -EINVAL,
		       "InvalidArgument: " SHOWN " (" SHOWN "): there is no such option%s Allowed "
		       "are %s",
		       key, where, nearest.best ? nearest_hint(&nearest, "") : ".",
		       text_string(&names));
}

/* before: what has been given already, and holds; NULL: nothing. where: for messages, "--option", "FILE:3". */
static int set(struct options *options, const struct options *before, const char *key,
	       const char *value, const char *where, struct err *err)
{
	struct profile_row row = {0};
	s64 number;

	for (size_t i = 0; i < ARRAY_SIZE(profile_rows); i++)
		if (strcmp(key, profile_rows[i].name) == 0)
			row = completed(&profile_rows[i]);
	if (!row.name)
		return unknown_key(key, where, err);
	if (!read_value(&row, value, &number))
		return invalid(&row, value, where, "wrong type", err);
	if (row.type != PROFILE_STRING && (number < row.minimum || number > row.maximum))
		return invalid(&row, value, where, "out of range", err);
	if (row.acts == PROFILE_NOT_YET || (row.acts == PROFILE_OFF_ONLY && number != row.value))
		return err_set(err, -ENOTSUP,
			       "Unimplemented: %s=" SHOWN " (" SHOWN ") can not act yet: %s; leave "
			       "it out",
			       row.name, value, where, row.help);
	if (before && was_given(before, &row))
		return 0;
	*member_of(options, &row) = number;
	*(bool *)((char *)options + row.given_offset) = true;
	return 0;
}

/* ---- all of them ---- */

static int set_pair(struct options *options, const struct options *flags, const char *pair,
		    struct err *err)
{
	const char *equals = strchr(pair, '=');
	char key[128];

	if (!equals || equals == pair)
		return err_set(err, -EINVAL,
			       "InvalidArgument: --option " SHOWN ": KEY=VALUE is expected", pair);
	snprintf(key, sizeof(key), "%.*s", (int)(equals - pair), pair);
	for (size_t i = 0; i < ARRAY_SIZE(profile_rows); i++)
		if (strcmp(key, profile_rows[i].name) == 0 && was_given(flags, &profile_rows[i]))
			return err_set(err, -EINVAL,
				       "InvalidArgument: %s is given as an option of its own and "
				       "by --option: give one of them",
				       key);
	return set(options, NULL, key, equals + 1, "--option", err);
}

struct from_file {
	struct options *options, before;
};

static int set_from_file(void *data, const char *key, const char *value, const char *where,
			 struct err *err)
{
	const struct from_file *file = data;

	return set(file->options, &file->before, key, value, where, err);
}

int profile_apply(struct options *options, struct err *err)
{
	/* Only what was given is looked at. */
	struct from_file file = {options, *options};
	int result = 0;

	for (size_t i = 0; i < options->option.count && !result; i++)
		result = set_pair(options, &file.before, options->option.items[i], err);
	file.before = *options;
	for (size_t i = 0; i < options->options_files.count && !result; i++)
		result = profile_file_read(options->options_files.items[i], set_from_file, &file,
					   err);
	return result;
}

int profile_each(const struct options *options,
		 int (*callback)(void *data, const char *name, const char *value, bool given),
		 void *data)
{
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(profile_rows) && !result; i++) {
		const struct profile_row *row = &profile_rows[i];
		char number[32] = "";
		s64 value;

		if (row->member || !was_given(options, row))
			continue;
		value = *(const s64 *)((const char *)options + row->offset);
		if (row->type == PROFILE_BOOLEAN)
			snprintf(number, sizeof(number), "%s", value ? "true" : "false");
		else if (row->type == PROFILE_INTEGER)
			snprintf(number, sizeof(number), "%" PRId64, value);
		result = callback(data, row->name, number, true);
	}
	return result;
}

static const char *acts_words(enum profile_acts acts)
{
	static const char *const words[] = {
		[PROFILE_NOW] = "",
		[PROFILE_OFF_ONLY] = "only off can be had yet: ",
		[PROFILE_NOT_YET] = "refused yet: ",
	};

	return words[acts];
}

void profile_append_help(struct text *text)
{
	text_append(text, "\nOptions by JAX's names (--option=KEY=VALUE, --options=FILE):\n");
	for (size_t i = 0; i < ARRAY_SIZE(profile_rows); i++) {
		struct profile_row row = completed(&profile_rows[i]);
		char allowed[80];

		text_appendf(text, "\n  %s: %s", row.name,
			     allowed_text(&row, allowed, sizeof(allowed)));
		if (row.type == PROFILE_INTEGER && row.acts == PROFILE_NOW)
			text_appendf(text, " (default %" PRId64 ")", row.value);
		text_appendf(text, "\n      %s%s\n", acts_words(row.acts),
			     row.member ? "see above" : row.help);
	}
}

bool profile_describe(size_t number, struct profile_description *ret_description)
{
	struct profile_row row;

	if (number >= ARRAY_SIZE(profile_rows))
		return false;
	row = completed(&profile_rows[number]);
	ret_description->name = row.name;
	allowed_text(&row, ret_description->allowed, sizeof(ret_description->allowed));
	ret_description->acts = acts_words(row.acts);
	ret_description->help = row.help;
	return true;
}
