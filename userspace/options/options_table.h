/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.def at run time: the rows that parsing, help and completion work from. Inside options/ only. */
#ifndef GPUPROBE_OPTIONS_OPTIONS_TABLE_H
#define GPUPROBE_OPTIONS_OPTIONS_TABLE_H

#include "base/text.h"
#include "options/options.h"

enum option_type {
	OPTION_FLAG, OPTION_NUMBER, OPTION_SECONDS, OPTION_TEXT, OPTION_LIST, OPTION_PIDS, OPTION_CHOICE,
};

struct option_row {
	const char *member;
	const char *long_name;
	char short_name; /* 0: none */
	const char *metavar;
	enum option_type type;
	size_t offset;	     /* of its value in struct options */
	size_t given_offset; /* of its bool in struct options */
	double number_default, minimum, maximum; /* NUMBER; SECONDS: in seconds; CHOICE, PIDS: unused */
	const char *text_default;		 /* TEXT, NULL: none */
	unsigned verbs;
	const char *help;
};

struct verb_row {
	enum options_verb verb;
	const char *name;
	unsigned fewest, most; /* arguments */
	const char *arguments; /* in words */
	const char *meaning;
};

struct usage_row {
	enum options_verb verb;
	const char *text;
	const char *meaning; /* NULL: a usage, else an example */
};

struct about_row {
	enum options_verb verb;
	const char *paragraph;
};

struct choice_row {
	const char *member;
	unsigned number;
	const char *word;
	const char *help;
};

struct words_row {
	const char *member;
	unsigned verbs;
	const char *words;
};

/* All end with a row of zeros. */
extern const struct option_row option_rows[];
extern const struct verb_row verb_rows[];
extern const struct usage_row usage_rows[];
extern const struct about_row about_rows[];
extern const struct choice_row choice_rows[];
extern const struct words_row words_rows[];
/* Names of verbs that this build leaves out; ends with NULL. */
extern const char *const absent_verbs[];

const struct verb_row *verb_row_of(enum options_verb verb);
/* NULL when there is none. */
const struct option_row *option_row_long(const char *name, size_t length);
const struct option_row *option_row_short(char name);

/* "auto, multi or single" / "record and check" into buffer. */
const char *option_choices_text(const struct option_row *row, char *buffer, size_t size);
const char *option_verbs_text(unsigned verbs, char *buffer, size_t size);
/* "0.01 to 86400": what NUMBER and SECONDS allow. */
const char *option_range_text(const struct option_row *row, char *buffer, size_t size);
/* " (1 to 1024, default 8)": what stands behind the help; "" where there is nothing to say. */
const char *option_default_text(const struct option_row *row, char *buffer, size_t size);
/* "-d, --duration=SECONDS". without: what stands in the place of a short name that is not there. */
void option_append_spelling(struct text *text, const struct option_row *row, const char *without);

/* Reads value into the option's member. spelled: the option as the user wrote it, for messages. */
int option_set(struct options *options, const struct option_row *row, const char *spelled,
	       const char *value, struct err *err);

#endif
