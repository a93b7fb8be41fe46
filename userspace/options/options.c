/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "options/launch_stacks.h"
#include "options/levels.h"
#include "options/options_table.h"
#include "options/profile.h"

/* Quoted words in messages are cut: a command line can be megabytes long. */
#define SHOWN "%.100s"

struct parser {
	char **words, **end; /* what is left of the command line */
	struct options *options;
	bool options_ended; /* "--" was seen */
	const struct option_row *
		pids; /* the word before was a value of this option, which takes process ids; NULL: it was not */
	struct err *err;
};

static void *value_of(struct options *options, const struct option_row *row)
{
	return (char *)options + row->offset;
}

static bool was_given(const struct options *options, const struct option_row *row)
{
	return *(const bool *)((const char *)options + row->given_offset);
}

static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

/* Would this word be read as an option, were it not the value of one? */
static bool looks_like_option(const struct option_row *row, const char *word)
{
	bool numeric = row->type == OPTION_NUMBER || row->type == OPTION_SECONDS;

	if (word[0] != '-' || !word[1])
		return false;
	/* "-5" is a bad number, and is called that. */
	return !(numeric && strchr(".0123456789", word[1]));
}

/* The next word, NULL at the end. */
static const char *peek(const struct parser *parser)
{
	return parser->words < parser->end ? *parser->words : NULL;
}

static int unknown_option(struct parser *parser, const char *word, const char *name, size_t length)
{
	char given[64];
	struct nearest nearest = {.word = given};

	snprintf(given, sizeof(given), "%.*s", (int)(length < 63 ? length : 63), name);
	for (const struct option_row *row = option_rows; row->member; row++)
		if (!parser->options->verb_given || row->verbs & parser->options->verb)
			nearest_offer(&nearest, row->long_name);
	if (nearest.best)
		return err_set(parser->err, -EINVAL, "unknown option " SHOWN "%s", word,
			       nearest_hint(&nearest, "--"));
	return err_set(parser->err, -EINVAL,
		       "unknown option " SHOWN ". gpuprobe %s --help shows those that there are",
		       word, verb_row_of(parser->options->verb)->name);
}

/* attached: the value that stands in the same word, NULL when there is none. */
static int take_option(struct parser *parser, const struct option_row *row, const char *spelled,
		       const char *attached)
{
	const char *value = attached;
	int result;

	if (row->type == OPTION_FLAG && attached)
		return err_set(parser->err, -EINVAL,
			       "%s takes no value, but \"" SHOWN "\" is given", spelled, attached);
	if (row->type != OPTION_FLAG && !value) {
		value = peek(parser);
		if (!value)
			return err_set(parser->err, -EINVAL, "%s needs a value: %s", spelled,
				       row->metavar);
		if (looks_like_option(row, value))
			return err_set(
				parser->err, -EINVAL,
				"%s needs a value (%s), but " SHOWN
				" follows%s. A value that begins with - is given as --%s=VALUE",
				spelled, row->metavar, value,
				row->type == OPTION_PIDS ? " (pidof found no process?)" : "",
				row->long_name);
		parser->words++;
	}
	result = option_set(parser->options, row, spelled, value, parser->err);
	parser->pids = row->type == OPTION_PIDS ? row : NULL;
	return result;
}

static int take_long(struct parser *parser, const char *word)
{
	const char *name = word + 2;
	size_t length = strcspn(name, "=");
	const struct option_row *row = option_row_long(name, length);
	char spelled[64];

	if (!row)
		return unknown_option(parser, word, name, length);
	snprintf(spelled, sizeof(spelled), "--%s", row->long_name);
	return take_option(parser, row, spelled, name[length] == '=' ? name + length + 1 : NULL);
}

/* -p 1, -p1, and flags in a bundle: -qp1 */
static int take_short(struct parser *parser, const char *word)
{
	size_t length = strcspn(word + 1, "=");
	const struct option_row *row = length > 1 ? option_row_long(word + 1, length) : NULL;
	int result = 0;

	if (row)
		return err_set(parser->err, -EINVAL,
			       "unknown option " SHOWN ". Did you mean -" SHOWN "?", word, word);
	for (const char *letter = word + 1; *letter && result == 0; letter++) {
		char spelled[3] = {'-', *letter};
		bool flag;

		row = option_row_short(*letter);
		if (!row && letter == word + 1)
			return unknown_option(parser, word, word + 1, length);
		if (!row)
			return err_set(parser->err, -EINVAL,
				       "unknown option -%c in " SHOWN
				       ". gpuprobe %s --help shows those that there are",
				       *letter, word, verb_row_of(parser->options->verb)->name);
		flag = row->type == OPTION_FLAG;
		result = take_option(parser, row, spelled, !flag && letter[1] ? letter + 1 : NULL);
		if (!flag)
			break;
	}
	return result;
}

static int unexpected_word(struct parser *parser, const char *word)
{
	const struct options *options = parser->options;
	const struct verb_row *verb = verb_row_of(options->verb);
	struct nearest nearest = {.word = word};

	if (options_verb_absent(word, parser->err))
		return -EINVAL;
	if (options->verb_given)
		return err_set(parser->err, -EINVAL, "unexpected \"" SHOWN "\": %s takes %s", word,
			       verb->name, verb->arguments);
	for (const struct verb_row *row = verb_rows; row->name; row++)
		nearest_offer(&nearest, row->name);
	if (nearest.best)
		return err_set(parser->err, -EINVAL, "unknown verb \"" SHOWN "\"%s", word,
			       nearest_hint(&nearest, ""));
	return err_set(
		parser->err, -EINVAL,
		"unexpected \"" SHOWN
		"\": it is no verb (gpuprobe --help lists them); a command to start goes behind --",
		word);
}

static int take_word(struct parser *parser, const char *word)
{
	struct options *options = parser->options;
	enum options_verb verb = 0;

	/* The further ones of -p $(pidof nginx). */
	if (parser->pids && is_number(word))
		return option_set(options, parser->pids, word, word, parser->err);
	parser->pids = NULL;
	if (!options->verb_given && !parser->options_ended)
		verb = options_verb_find(word);
	if (verb) {
		options->verb = verb;
		options->verb_given = true;
		return 0;
	}
	if (options->arguments.count == verb_row_of(options->verb)->most)
		return unexpected_word(parser, word);
	return options_list_add(&options->arguments, word, parser->err);
}

/* What stands behind "--": the command of record; for other verbs words that are no options. */
static int take_rest(struct parser *parser)
{
	size_t count = parser->end - parser->words;

	if (parser->options->verb != VERB_RECORD) {
		parser->options_ended = true;
		return 0;
	}
	if (!count || !**parser->words)
		return err_set(parser->err, -EINVAL, "no command stands behind --");
	parser->options->command = calloc(count + 1, sizeof(char *));
	if (!parser->options->command)
		return err_errno(parser->err, -ENOMEM, "can't keep the command");
	for (size_t i = 0; i < count; i++) {
		parser->options->command[i] = strdup(*parser->words++);
		if (!parser->options->command[i])
			return err_errno(parser->err, -ENOMEM, "can't keep the command");
	}
	return 0;
}

static int take_words(struct parser *parser)
{
	int result = 0;

	while (result == 0 && parser->words < parser->end) {
		const char *word = *parser->words++;

		if (parser->options_ended || word[0] != '-' || !word[1]) {
			result = take_word(parser, word);
		} else if (strcmp(word, "--") == 0) {
			result = take_rest(parser);
		} else {
			result =
				word[1] == '-' ? take_long(parser, word) : take_short(parser, word);
		}
	}
	return result;
}

static int check_verbs(const struct options *options, struct err *err)
{
	char verbs[128];

	for (const struct option_row *row = option_rows; row->member; row++) {
		if (!was_given(options, row) || row->verbs & options->verb)
			continue;
		return err_set(err, -EINVAL, "--%s is no option of %s, only of %s", row->long_name,
			       verb_row_of(options->verb)->name,
			       option_verbs_text(row->verbs, verbs, sizeof(verbs)));
	}
	return 0;
}

/* What a verb cannot do without, and what excludes each other. */
static int check_needs(const struct options *options, struct err *err)
{
	const struct verb_row *verb = verb_row_of(options->verb);
	struct launch_stacks stacks;

	if (launch_stacks_of(options, &stacks, err))
		return err->code;
	if (stacks.by_agent && options->no_inject)
		return err_set(err, -EINVAL,
			       "--launch-stacks agent: with --no-inject there is no agent; auto "
			       "and all take them by probes");
	if (options->arguments.count < verb->fewest)
		return err_set(err, -EINVAL, "%s takes %s. gpuprobe %s --help shows how",
			       verb->name, verb->arguments, verb->name);
	if (options->verb == VERB_RECORD && !options->pids.count && !options->command)
		return err_set(err, -EINVAL,
			       "nothing to record: give -p PID, or a command behind --. "
			       "gpuprobe --help shows how");
	if (options->pids.count && options->command)
		return err_set(
			err, -EINVAL,
			"-p PID and a command behind -- exclude each other: give one of them");
	if (options->verb == VERB_CHECK && !options->pids.count)
		return err_set(err, -EINVAL, "nothing to check: give -p PID");
	if (options->verb == VERB_SERVE && !options->pids.count)
		return err_set(err, -EINVAL, "nothing to serve: give -p PID");
	if (options->verb == VERB_EXPORT && !options->outputs.count)
		return err_set(err, -EINVAL, "nothing to write: give -o FILE");
	if (options->buffer_mb & (options->buffer_mb - 1))
		return err_set(err, -EINVAL,
			       "--buffer-mb %llu: must be a power of two (1, 2, 4, ... 1024)",
			       (unsigned long long)options->buffer_mb);
	if (options->quiet && options->verbose)
		return err_set(err, -EINVAL, "--quiet and --verbose exclude each other");
	return 0;
}

static int set_defaults(struct options *options, struct err *err)
{
	options->verb = VERB_RECORD;
	profile_set_defaults(options);
	for (const struct option_row *row = option_rows; row->member; row++) {
		if (row->type == OPTION_NUMBER)
			*(u64 *)value_of(options, row) = row->number_default;
		if (row->type == OPTION_SECONDS)
			*(u64 *)value_of(options, row) = row->number_default * NS_PER_SECOND;
		if (row->type == OPTION_TEXT && row->text_default) {
			char *copy = strdup(row->text_default);

			if (!copy)
				return err_errno(err, -ENOMEM, "can't keep the options");
			*(char **)value_of(options, row) = copy;
		}
	}
	return 0;
}

int options_parse(int argc, char **argv, struct options *ret_options, struct err *err)
{
	struct options options = {0};
	struct parser parser = {argv + (argc > 0), argv + argc, &options, .err = err};
	int result;

	memset(ret_options, 0, sizeof(*ret_options));
	result = set_defaults(&options, err);
	if (result == 0)
		result = take_words(&parser);
	if (result == 0 && !options.help && !options.version && !options.help_levels &&
	    !options.help_reports) {
		result = check_verbs(&options, err);
		if (result == 0)
			result = profile_apply(&options, err);
		if (result == 0)
			result = levels_check(&options, err);
		if (result == 0)
			result = check_needs(&options, err);
	}
	if (result < 0)
		options_free(&options);
	else
		*ret_options = options;
	return result;
}

int options_list_split(struct options_list *list, const char *string, struct err *err)
{
	char *copy = strdup(string), *rest = copy, *word;
	int result = copy ? 0 : err_errno(err, -ENOMEM, "can't keep the options");

	while (result == 0 && (word = strsep(&rest, ",")))
		if (*word)
			result = options_list_add(list, word, err);
	free(copy);
	return result;
}

void options_list_free(struct options_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

void options_free(struct options *options)
{
	for (const struct option_row *row = option_rows; row->member; row++) {
		if (row->type == OPTION_LIST)
			options_list_free(value_of(options, row));
		if (row->type == OPTION_PIDS)
			free(((struct options_pids *)value_of(options, row))->items);
		if (row->type == OPTION_TEXT)
			free(*(char **)value_of(options, row));
	}
	options_list_free(&options->arguments);
	for (char **word = options->command; word && *word; word++)
		free(*word);
	free(options->command);
	memset(options, 0, sizeof(*options));
}
