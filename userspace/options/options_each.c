/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options as they are in force, as text: for the option facts of a capture. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "options/options_table.h"
#include "options/profile.h"

struct visit {
	const struct option_row *row;
	const void *value;
	bool given;
	int (*callback)(void *data, const char *name, const char *value, bool given);
	void *data;
};

static int call(const struct visit *visit, const char *value)
{
	return visit->callback(visit->data, visit->row->long_name, value, visit->given);
}

static int each_flag(const struct visit *visit)
{
	return call(visit, *(const bool *)visit->value ? "true" : "false");
}

static int each_number(const struct visit *visit)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", *(const unsigned long long *)visit->value);
	return call(visit, text);
}

static int each_seconds(const struct visit *visit)
{
	u64 ns = *(const u64 *)visit->value;
	char text[40];
	size_t length;

	length = snprintf(text, sizeof(text), "%llu.%09llu",
			  (unsigned long long)(ns / NS_PER_SECOND),
			  (unsigned long long)(ns % NS_PER_SECOND));
	while (text[length - 1] == '0')
		text[--length] = '\0';
	if (text[length - 1] == '.')
		text[--length] = '\0';
	return call(visit, text);
}

static int each_text(const struct visit *visit)
{
	const char *text = *(char *const *)visit->value;

	return text ? call(visit, text) : 0;
}

static int each_list(const struct visit *visit)
{
	const struct options_list *list = visit->value;
	int result = 0;

	for (size_t i = 0; i < list->count && result == 0; i++)
		result = call(visit, list->items[i]);
	return result;
}

static int each_pid(const struct visit *visit)
{
	const struct options_pids *pids = visit->value;
	int result = 0;

	for (size_t i = 0; i < pids->count && result == 0; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%u", pids->items[i]);
		result = call(visit, text);
	}
	return result;
}

static int each_choice(const struct visit *visit)
{
	unsigned number = *(const unsigned *)visit->value;

	for (const struct choice_row *choice = choice_rows; choice->member; choice++)
		if (strcmp(choice->member, visit->row->member) == 0 && choice->number == number)
			return call(visit, choice->word);
	return 0;
}

/* By type. */
static int (*const each[])(const struct visit *visit) = {
	[OPTION_FLAG] = each_flag,	 [OPTION_NUMBER] = each_number,
	[OPTION_SECONDS] = each_seconds, [OPTION_TEXT] = each_text,
	[OPTION_LIST] = each_list,	 [OPTION_PIDS] = each_pid,
	[OPTION_CHOICE] = each_choice,
};

static struct visit visit_of(const struct options *options, const struct option_row *row)
{
	return (struct visit){.row = row,
			      .value = (const char *)options + row->offset,
			      .given = *(const bool *)((const char *)options + row->given_offset)};
}

int options_each(const struct options *options,
		 int (*callback)(void *data, const char *name, const char *value, bool given),
		 void *data)
{
	int result = 0;

	for (const struct option_row *row = option_rows; row->member && result == 0; row++) {
		struct visit visit = visit_of(options, row);

		visit.callback = callback;
		visit.data = data;
		/* They end the program: no capture can tell of them. */
		if (strcmp(row->member, "help") == 0 || strcmp(row->member, "version") == 0 ||
		    strcmp(row->member, "help_levels") == 0 ||
		    strcmp(row->member, "help_reports") == 0)
			continue;
		if (row->verbs & options->verb)
			result = each[row->type](&visit);
	}
	if (result == 0)
		result = profile_each(options, callback, data);
	return result;
}

struct words {
	struct options_list *list;
	const struct option_row *row;
	struct err *err;
};

static int add_word(void *data, const char *name, const char *value, bool given)
{
	const struct words *words = data;
	_cleanup_text_ struct text word = {0};

	text_appendf(&word, "--%s", name);
	if (words->row->type != OPTION_FLAG)
		text_appendf(&word, "=%s", value);
	if (word.failed)
		return err_errno(words->err, -ENOMEM, "can't keep the options");
	return options_list_add(words->list, text_string(&word), words->err);
}

int options_words(const struct options *options, enum options_verb verb, struct options_list *words,
		  struct err *err)
{
	int result = 0;

	for (const struct option_row *row = option_rows; row->member && result == 0; row++) {
		struct words data = {words, row, err};
		struct visit visit = visit_of(options, row);

		visit.callback = add_word;
		visit.data = &data;
		if (visit.given && row->verbs & options->verb && row->verbs & verb)
			result = each[row->type](&visit);
	}
	return result;
}
