/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --help of every verb and the overview, from the table. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "options/levels.h"
#include "options/options_table.h"
#include "options/profile.h"

#define WIDTH	      96
#define OPTION_INDENT 30
#define CHOICE_INDENT 42

static void append_padding(struct text *text, size_t columns)
{
	for (size_t i = 0; i < columns; i++)
		text_append_char(text, ' ');
}

/* Words from column on, folded before WIDTH, further lines indented. Ends the line. */
static void append_wrapped(struct text *text, size_t column, size_t indent, const char *words)
{
	bool first = true;

	while (*words) {
		size_t length = strcspn(words, " ");

		if (!first && column + 1 + length > WIDTH) {
			text_append_char(text, '\n');
			append_padding(text, indent);
			column = indent;
			first = true;
		}
		if (!first)
			text_append_char(text, ' ');
		column += length + !first;
		text_append_bytes(text, words, length);
		words += length;
		words += strspn(words, " ");
		first = false;
	}
	text_append_char(text, '\n');
}

static void append_option(struct text *text, const struct option_row *row)
{
	_cleanup_text_ struct text line = {0};
	_cleanup_text_ struct text help = {0};
	char range[128];
	size_t columns;

	text_append(&line, "  ");
	option_append_spelling(&line, row, "    ");
	columns = text_columns(text_string(&line));
	text_append(text, text_string(&line));
	if (columns + 2 > OPTION_INDENT) {
		text_append_char(text, '\n');
		columns = 0;
	}
	append_padding(text, OPTION_INDENT - columns);
	text_appendf(&help, "%s%s", row->help, option_default_text(row, range, sizeof(range)));
	append_wrapped(text, OPTION_INDENT, OPTION_INDENT, text_string(&help));
	for (const struct choice_row *choice = choice_rows; choice->member; choice++) {
		if (strcmp(choice->member, row->member) != 0)
			continue;
		append_padding(text, OPTION_INDENT);
		text_appendf(text, "%-*s", CHOICE_INDENT - OPTION_INDENT, choice->word);
		text_clear(&help);
		text_appendf(&help, "%s%s", choice->help, choice->number ? "" : " (default)");
		append_wrapped(text, CHOICE_INDENT, CHOICE_INDENT, text_string(&help));
	}
}

/* Those of these verbs first, then those that every verb takes. */
static void append_options(struct text *text, unsigned verbs)
{
	for (const struct option_row *row = option_rows; row->member; row++)
		if (row->verbs != VERB_ALL && row->verbs & verbs)
			append_option(text, row);
	for (const struct option_row *row = option_rows; row->member; row++)
		if (row->verbs == VERB_ALL)
			append_option(text, row);
}

static void append_usage(struct text *text, enum options_verb verb)
{
	text_append(text, "\nUsage:\n");
	for (const struct usage_row *row = usage_rows; row->text; row++)
		if (row->verb & verb && !row->meaning)
			text_appendf(text, "  %s\n", row->text);
}

static void append_examples(struct text *text, enum options_verb verb)
{
	text_append(text, "\nExamples:\n");
	for (const struct usage_row *row = usage_rows; row->text; row++) {
		if (!(row->verb & verb) || !row->meaning)
			continue;
		text_appendf(text, "  %s\n      ", row->text);
		append_wrapped(text, 6, 6, row->meaning);
	}
}

static void append_overview(struct text *text)
{
	text_append(text,
		    "gpuprobe attaches to a running process, records its functions, lets go of it, "
		    "and\nwrites traces. No restart, no rebuild, no change in the target.\n");
	append_usage(text, VERB_ALL & ~(VERB_COMPLETION | VERB_HELP | VERB_VERSION));
	append_examples(text, VERB_RECORD | VERB_STATS);
	text_append(text, "\nVerbs:\n");
	for (const struct verb_row *row = verb_rows; row->name; row++) {
		text_appendf(text, "  %-12s", row->name);
		append_wrapped(text, 14, 14, row->meaning);
	}
	text_append(text, "\nOptions of record:\n");
	append_options(text, VERB_RECORD);
	text_append(text, "\ngpuprobe VERB --help shows those of another verb.\n");
}

void options_print_help(FILE *file, enum options_verb verb)
{
	_cleanup_text_ struct text text = {0};

	if (verb == VERB_ALL) {
		append_overview(&text);
	} else {
		const struct verb_row *row = verb_row_of(verb);

		text_appendf(&text, "gpuprobe %s: ", row->name);
		append_wrapped(&text, 11 + strlen(row->name), 0, row->meaning);
		append_usage(&text, verb);
		append_examples(&text, verb);
		text_append(&text, "\nOptions:\n");
		append_options(&text, verb);
	}
	fputs(text_string(&text), file);
}

void options_print_levels(FILE *file)
{
	_cleanup_text_ struct text text = {0};

	levels_append_help(&text);
	profile_append_help(&text);
	fputs(text_string(&text), file);
}
