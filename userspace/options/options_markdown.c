/* SPDX-License-Identifier: GPL-2.0-or-later */
/* docs/options.md: verbs, options, levels and the options by JAX's names as tables of markdown. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "options/levels.h"
#include "options/options_table.h"
#include "options/profile.h"

/* A cell of a markdown table: | ends it, * _ ` [ ] < > mean something. */
static void append_cell(struct text *text, const char *string)
{
	for (; *string; string++) {
		if (strchr("|*_`[]<>", *string))
			text_append_char(text, '\\');
		text_append_char(text, *string);
	}
}

static void append_option(struct text *text, const struct option_row *row)
{
	char buffer[256];

	text_append(text, "| `");
	option_append_spelling(text, row, "");
	text_append(text, "` | ");
	append_cell(text, row->verbs == VERB_ALL
				  ? "all"
				  : option_verbs_text(row->verbs, buffer, sizeof(buffer)));
	text_append(text, " | ");
	append_cell(text, row->help);
	append_cell(text, option_default_text(row, buffer, sizeof(buffer)));
	for (const struct choice_row *choice = choice_rows; choice->member; choice++) {
		if (strcmp(choice->member, row->member) != 0)
			continue;
		text_appendf(text, "%s `%s`: ", choice->number ? ";" : ":", choice->word);
		append_cell(text, choice->help);
	}
	text_append(text, " |\n");
}

static void append_levels(struct text *text)
{
	for (size_t i = 0; i < LEVEL_FEATURES; i++) {
		const struct level_row *row = level_row(i);

		text_appendf(text, "| `%s` %u | %s%s |\n", row->tracer, row->level, row->words,
			     level_how_words(row->how));
	}
}

static void append_profile(struct text *text)
{
	struct profile_description row;

	for (size_t i = 0; profile_describe(i, &row); i++)
		text_appendf(text, "| `%s` | %s | %s%s |\n", row.name, row.allowed, row.acts,
			     row.help);
}

void options_print_markdown(FILE *file)
{
	_cleanup_text_ struct text text = {0};

	text_append(&text, "# Verbs, options, levels\n\n"
			   "Written by `make docs` from `userspace/options/options.def`, "
			   "`levels.def` and `profile.def`: change those.\n"
			   "`gpuprobe VERB --help` and `man gpuprobe-VERB` say the same.\n"
			   "\n## Verbs\n\n| verb | what it does |\n|---|---|\n");
	for (const struct verb_row *row = verb_rows; row->name; row++) {
		text_appendf(&text, "| `%s` | ", row->name);
		append_cell(&text, row->meaning);
		text_append(&text, " |\n");
	}
	text_append(&text, "\n## Options\n\n| option | verbs | meaning |\n|---|---|---|\n");
	for (const struct option_row *row = option_rows; row->member; row++)
		append_option(&text, row);
	text_append(&text, "\n## Levels\n\nA level switches on what stands at its number and "
			   "below it.\n\n| level | switches on |\n|---|---|\n");
	append_levels(&text);
	text_append(&text,
		    "\n## Options by JAX's names\n\n"
		    "`--option KEY=VALUE`, or `--options FILE` with a line KEY=VALUE for each.\n\n"
		    "| key | allowed | meaning |\n|---|---|---|\n");
	append_profile(&text);
	fputs(text_string(&text), file);
}
