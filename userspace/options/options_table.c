/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options/options_table.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define RECORD	   VERB_RECORD
#define EXPORT	   VERB_EXPORT
#define STATS	   VERB_STATS
#define EXPLAIN	   VERB_EXPLAIN
#define CHECK	   VERB_CHECK
#define OPEN	   VERB_OPEN
#define COMPLETION VERB_COMPLETION
#define HELP	   VERB_HELP
#define VERSION	   VERB_VERSION
#define ALL	   VERB_ALL
#ifdef WITHOUT_SERVE
#define SERVE 0 /* no option is one of it */
#else
#define SERVE VERB_SERVE
#endif

#define NUMBER_DEFAULT_FLAG(value)    0
#define NUMBER_DEFAULT_NUMBER(value)  (value)
#define NUMBER_DEFAULT_SECONDS(value) (value)
#define NUMBER_DEFAULT_TEXT(value)    0
#define NUMBER_DEFAULT_LIST(value)    0
#define NUMBER_DEFAULT_PIDS(value)    0
#define NUMBER_DEFAULT_CHOICE(value)  0

#define TEXT_DEFAULT_FLAG(value)    NULL
#define TEXT_DEFAULT_NUMBER(value)  NULL
#define TEXT_DEFAULT_SECONDS(value) NULL
#define TEXT_DEFAULT_TEXT(value)    (value)
#define TEXT_DEFAULT_LIST(value)    NULL
#define TEXT_DEFAULT_PIDS(value)    NULL
#define TEXT_DEFAULT_CHOICE(value)  NULL

const struct option_row option_rows[] = {
#define OPTION(member, type, long_name, short_name, metavar, value, minimum, maximum, verbs, help) \
	{#member,                                                                                  \
	 long_name,                                                                                \
	 short_name,                                                                               \
	 metavar,                                                                                  \
	 OPTION_##type,                                                                            \
	 offsetof(struct options, member),                                                         \
	 offsetof(struct options, given.member),                                                   \
	 NUMBER_DEFAULT_##type(value),                                                             \
	 minimum,                                                                                  \
	 maximum,                                                                                  \
	 TEXT_DEFAULT_##type(value),                                                               \
	 verbs,                                                                                    \
	 help},
#include "options/options.def"
	{NULL},
};

const struct verb_row verb_rows[] = {
#define VERB(verb, name, fewest, most, arguments, meaning) \
	{verb, name, fewest, most, arguments, meaning},
#include "options/options.def"
	{0},
};

const struct usage_row usage_rows[] = {
#define USAGE(verb, text)	     {verb, text, NULL},
#define EXAMPLE(verb, text, meaning) {verb, text, meaning},
#include "options/options.def"
	{0},
};

const struct about_row about_rows[] = {
#define ABOUT(verb, paragraph) {verb, paragraph},
#include "options/options.def"
	{0},
};

const struct choice_row choice_rows[] = {
#define CHOICE(member, number, word, help) {#member, number, #word, help},
#include "options/options.def"
	{NULL},
};

const struct words_row words_rows[] = {
#define WORDS(member, verbs, words) {#member, verbs, words},
#include "options/options.def"
	{NULL},
};

const char *const absent_verbs[] = {
#define ABSENT(name) name,
#include "options/options.def"
	NULL,
};

const struct verb_row *verb_row_of(enum options_verb verb)
{
	const struct verb_row *row = verb_rows;

	while (row->name && row->verb != verb)
		row++;
	return row->name ? row : verb_rows;
}

const char *options_verb_name(enum options_verb verb)
{
	return verb_row_of(verb)->name;
}

enum options_verb options_verb_find(const char *name)
{
	for (const struct verb_row *row = verb_rows; row->name; row++)
		if (strcmp(row->name, name) == 0)
			return row->verb;
	return 0;
}

int options_verb_absent(const char *name, struct err *err)
{
	for (const char *const *absent = absent_verbs; *absent; absent++)
		if (strcmp(*absent, name) == 0)
			return err_set(err, -EINVAL,
				       "%s: this gpuprobe was built without it (make WITHOUT=%s)",
				       name, name);
	return 0;
}

const struct option_row *option_row_long(const char *name, size_t length)
{
	for (const struct option_row *row = option_rows; row->member; row++)
		if (strlen(row->long_name) == length && memcmp(row->long_name, name, length) == 0)
			return row;
	return NULL;
}

const struct option_row *option_row_short(char name)
{
	for (const struct option_row *row = option_rows; row->member; row++)
		if (name && row->short_name == name)
			return row;
	return NULL;
}

/* Joins words as a sentence does: "a", "a CONJUNCTION b", "a, b CONJUNCTION c". */
static const char *join(const char *const *words, size_t count, const char *conjunction,
			char *buffer, size_t size)
{
	size_t length = 0;

	buffer[0] = '\0';
	for (size_t i = 0; i < count && length < size; i++) {
		const char *before = i == 0 ? "" : ", ";
		bool last = i > 0 && i + 1 == count;

		length += snprintf(buffer + length, size - length, "%s%s%s%s", last ? " " : before,
				   last ? conjunction : "", last ? " " : "", words[i]);
	}
	return buffer;
}

const char *option_choices_text(const struct option_row *row, char *buffer, size_t size)
{
	const char *words[16];
	size_t count = 0;

	for (const struct choice_row *choice = choice_rows; choice->member; choice++)
		if (strcmp(choice->member, row->member) == 0 && count < ARRAY_SIZE(words))
			words[count++] = choice->word;
	return join(words, count, "or", buffer, size);
}

const char *option_verbs_text(unsigned verbs, char *buffer, size_t size)
{
	const char *words[16];
	size_t count = 0;

	for (const struct verb_row *row = verb_rows; row->name; row++)
		if (verbs & row->verb && count < ARRAY_SIZE(words))
			words[count++] = row->name;
	return join(words, count, "and", buffer, size);
}

const char *option_range_text(const struct option_row *row, char *buffer, size_t size)
{
	snprintf(buffer, size, "%.10g to %.10g", row->minimum, row->maximum);
	return buffer;
}

const char *option_default_text(const struct option_row *row, char *buffer, size_t size)
{
	char range[64];

	buffer[0] = '\0';
	if (row->type == OPTION_NUMBER || row->type == OPTION_SECONDS)
		snprintf(buffer, size, " (%s, default %.10g)",
			 option_range_text(row, range, sizeof(range)), row->number_default);
	else if (row->type == OPTION_TEXT && row->text_default)
		snprintf(buffer, size, " (default %s)", row->text_default);
	return buffer;
}

void option_append_spelling(struct text *text, const struct option_row *row, const char *without)
{
	if (row->short_name)
		text_appendf(text, "-%c, ", row->short_name);
	else
		text_append(text, without);
	text_appendf(text, "--%s", row->long_name);
	if (row->type != OPTION_FLAG)
		text_appendf(text, "=%s", row->metavar);
}
