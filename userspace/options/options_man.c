/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Manual pages, in the man(7) macros, from the table: one for the program and one for each verb. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "options/levels.h"
#include "options/options_table.h"
#include "options/profile.h"

#define SOURCE_COLUMNS 66 /* of the text, before characters are escaped */

#define ABOUT_PROGRAM "record what a running process does on its CPU and its GPU"

/* Characters that roff takes for others, or draws as others. */
static const struct {
	char character;
	const char *roff;
} escapes[] = {
	{'\\', "\\e"},	{'-', "\\-"},	{'\'', "\\(aq"}, {'`', "\\(ga"},
	{'^', "\\(ha"}, {'~', "\\(ti"}, {'"', "\\(dq"},
};

static void append_character(struct text *text, char character)
{
	for (size_t i = 0; i < ARRAY_SIZE(escapes); i++) {
		if (escapes[i].character == character) {
			text_append(text, escapes[i].roff);
			return;
		}
	}
	text_append_char(text, character);
}

static void append_word(struct text *text, const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		append_character(text, word[i]);
}

/* Prose: source lines of less than 80 bytes, which roff fills again. */
static void append_prose(struct text *text, const char *words)
{
	size_t column = 0;

	while (*words) {
		size_t length = strcspn(words, " ");

		if (column && column + 1 + length > SOURCE_COLUMNS) {
			text_append_char(text, '\n');
			column = 0;
		} else if (column) {
			text_append_char(text, ' ');
		}
		if (!column && *words == '.')
			text_append(text, "\\&");
		append_word(text, words, length);
		column += 1 + length;
		words += length;
		words += strspn(words, " ");
	}
	text_append_char(text, '\n');
}

static void append_bold_line(struct text *text, const char *words)
{
	text_append(text, "\\fB");
	append_word(text, words, strlen(words));
	text_append(text, "\\fR\n");
}

static void append_tagged(struct text *text, const char *tag, const char *words)
{
	text_append(text, ".TP\n");
	append_bold_line(text, tag);
	append_prose(text, words);
}

static void append_upper(struct text *text, const char *word)
{
	for (; *word; word++)
		append_character(text, toupper((unsigned char)*word));
}

/* "gpuprobe-record"; of VERB_ALL "gpuprobe". */
static void append_page_name(struct text *text, enum options_verb verb)
{
	text_append(text, "gpuprobe");
	if (verb != VERB_ALL)
		text_appendf(text, "\\-%s", options_verb_name(verb));
}

static void append_title(struct text *text, enum options_verb verb, const char *program_version)
{
	text_append(text, ".TH GPUPROBE");
	if (verb != VERB_ALL) {
		text_append(text, "\\-");
		append_upper(text, options_verb_name(verb));
	}
	text_append(text, " 1 \"\" \"gpuprobe ");
	for (const char *c = program_version; *c; c++)
		append_character(text, *c);
	text_append(text, "\" \"gpuprobe manual\"\n.SH NAME\n");
	append_page_name(text, verb);
	text_append(text, " \\- ");
	append_prose(text, verb == VERB_ALL ? ABOUT_PROGRAM : verb_row_of(verb)->meaning);
}

static void append_synopsis(struct text *text, unsigned verbs)
{
	bool first = true;

	text_append(text, ".SH SYNOPSIS\n");
	for (const struct usage_row *row = usage_rows; row->text; row++) {
		if (!(row->verb & verbs) || row->meaning)
			continue;
		if (!first)
			text_append(text, ".br\n");
		append_bold_line(text, row->text);
		first = false;
	}
}

static void append_description(struct text *text, enum options_verb verb)
{
	const char *before = ".SH DESCRIPTION\n";

	for (const struct about_row *row = about_rows; row->paragraph; row++) {
		if (row->verb != verb)
			continue;
		text_append(text, before);
		append_prose(text, row->paragraph);
		before = ".PP\n";
	}
}

static void append_option(struct text *text, const struct option_row *row)
{
	_cleanup_text_ struct text tag = {0}, words = {0};
	char buffer[128];

	option_append_spelling(&tag, row, "");
	text_appendf(&words, "%s%s", row->help, option_default_text(row, buffer, sizeof(buffer)));
	append_tagged(text, text_string(&tag), text_string(&words));
	if (row->type != OPTION_CHOICE)
		return;
	text_append(text, ".RS\n");
	for (const struct choice_row *choice = choice_rows; choice->member; choice++) {
		if (strcmp(choice->member, row->member) != 0)
			continue;
		text_clear(&words);
		text_appendf(&words, "%s%s", choice->help, choice->number ? "" : " (default)");
		append_tagged(text, choice->word, text_string(&words));
	}
	text_append(text, ".RE\n");
}

/* Those of the verb first, then those that every verb takes, which are all that gpuprobe's own page has. */
static void append_options(struct text *text, enum options_verb verb)
{
	text_append(text, ".SH OPTIONS\n");
	for (const struct option_row *row = option_rows; row->member; row++)
		if (verb != VERB_ALL && row->verbs != VERB_ALL && row->verbs & verb)
			append_option(text, row);
	for (const struct option_row *row = option_rows; row->member; row++)
		if (row->verbs == VERB_ALL)
			append_option(text, row);
}

static void append_levels(struct text *text)
{
	text_append(text,
		    ".SH LEVELS\nA level switches on what stands at its number and below it.\n");
	for (size_t i = 0; i < LEVEL_FEATURES; i++) {
		_cleanup_text_ struct text tag = {0}, words = {0};
		const struct level_row *row = level_row(i);

		text_appendf(&tag, "%s %u", row->tracer, row->level);
		text_appendf(&words, "%s%s", row->words, level_how_words(row->how));
		append_tagged(text, text_string(&tag), text_string(&words));
	}
}

static void append_profile(struct text *text)
{
	struct profile_description row;

	text_append(text, ".SH KEYS OF \\-\\-option\n");
	for (size_t i = 0; profile_describe(i, &row); i++) {
		_cleanup_text_ struct text words = {0};

		text_appendf(&words, "%s%s (%s)", row.acts, row.help, row.allowed);
		append_tagged(text, row.name, text_string(&words));
	}
}

static void append_examples(struct text *text, unsigned verbs)
{
	const char *heading = ".SH EXAMPLES\n";

	for (const struct usage_row *row = usage_rows; row->text; row++) {
		if (!(row->verb & verbs) || !row->meaning)
			continue;
		text_append(text, heading);
		append_tagged(text, row->text, row->meaning);
		heading = "";
	}
}

static void append_verbs(struct text *text)
{
	text_append(text, ".SH VERBS\n");
	for (const struct verb_row *row = verb_rows; row->name; row++)
		append_tagged(text, row->name, row->meaning);
}

static bool takes(enum options_verb verb, const char *member)
{
	for (const struct option_row *row = option_rows; row->member; row++)
		if (strcmp(row->member, member) == 0)
			return verb != VERB_ALL && row->verbs & verb;
	return false;
}

static void append_exit_status(struct text *text, enum options_verb verb)
{
	text_append(text, ".SH EXIT STATUS\n");
	append_tagged(text, "0", "Done.");
	append_tagged(text, "1", "It could not be done: the reason is on standard error.");
	append_tagged(text, "2", "The command line asks for what there is not.");
	if (verb == VERB_ALL || verb == VERB_RECORD) {
		text_append(text, ".PP\n");
		append_prose(text, "Where a command was started and recorded, the exit status is "
				   "that of the command.");
	}
}

static void append_see_also(struct text *text, enum options_verb verb)
{
	const char *before = "";

	text_append(text, ".SH SEE ALSO\n");
	if (verb != VERB_ALL) {
		text_append(text, ".BR gpuprobe (1)");
		before = ",\n";
	}
	for (const struct verb_row *row = verb_rows; row->name; row++) {
		if (row->verb == verb)
			continue;
		text_appendf(text, "%s.BR gpuprobe\\-%s (1)", before, row->name);
		before = ",\n";
	}
	text_append_char(text, '\n');
}

void options_print_man(FILE *file, enum options_verb verb, const char *program_version)
{
	_cleanup_text_ struct text text = {0};

	text_append(&text, ".\\\" Written by gpuprobe help man, from options.def.\n");
	append_title(&text, verb, program_version);
	append_synopsis(&text, verb);
	append_description(&text, verb);
	if (verb == VERB_ALL)
		append_verbs(&text);
	append_options(&text, verb);
	if (takes(verb, "option")) {
		append_levels(&text);
		append_profile(&text);
	}
	append_examples(&text, verb == VERB_ALL ? VERB_RECORD | VERB_STATS : verb);
	append_exit_status(&text, verb);
	append_see_also(&text, verb);
	fputs(text_string(&text), file);
}
