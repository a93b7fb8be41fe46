/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/reports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/text.h"
#include "reports/report_table.h"

static const struct report report_rows[] = {
#define NONE   REPORT_TAKES_NONE
#define NAMES  REPORT_TAKES_NAMES
#define NVTX   REPORT_TAKES_NVTX
#define ROWS   REPORT_TAKES_ROWS
#define GROUPS REPORT_TAKES_GROUPS
#define MODULE REPORT_TAKES_MODULE
#define ALIKE  REPORT_TAKES_ALIKE
#define IDLE   REPORT_TAKES_IDLE
#define FRAMES REPORT_TAKES_FRAMES
/* Else make. */
#define RUNS(function) .begin = function
#define ALIASES(...)        \
	{                   \
		__VA_ARGS__ \
	}
#define REPORT(name, aliases, function, takes, data, meaning) \
	{name, aliases, meaning, data, .options = takes, function},
#include "reports/reports.def"
#undef NONE
#undef NAMES
#undef NVTX
#undef ROWS
#undef GROUPS
#undef MODULE
#undef ALIKE
#undef IDLE
#undef FRAMES
#undef ALIASES
#undef RUNS
};

/* Not listed. Their meaning is their title. */
static const struct report absent_rows[] = {
#define ABSENT(name, old_name, title, data) \
	{name, {old_name}, title, data, .options = REPORT_TAKES_NONE, report_absent_make},
#include "reports/reports_absent.def"
};

int report_absent_make(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	table->title = request->report->meaning;
	return 0;
}

/* What follows what, for people. */
static const struct {
	const char *report, *then;
} followers[] = {
	{"off_cpu_sum", "off_cpu_stacks"},
	{"off_cpu_stacks", "wakers"},
};

const struct report *reports(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(report_rows);
	return report_rows;
}

const char *report_then(const struct report *report)
{
	for (size_t i = 0; i < ARRAY_SIZE(followers); i++)
		if (!strcmp(followers[i].report, report->name))
			return followers[i].then;
	return NULL;
}

static bool is_called(const struct report *report, const char *name)
{
	if (!strcmp(report->name, name))
		return true;
	for (size_t i = 0; i < REPORT_ALIASES_MAX && report->aliases[i]; i++)
		if (!strcmp(report->aliases[i], name))
			return true;
	return false;
}

static void list_names(const struct report *report, struct nearest *nearest, struct text *known)
{
	nearest_offer(nearest, report->name);
	text_appendf(known, "%s%s", known->length ? ", " : "", report->name);
	for (size_t i = 0; i < REPORT_ALIASES_MAX && report->aliases[i]; i++)
		nearest_offer(nearest, report->aliases[i]);
}

static int find(const char *name, const struct report **ret_report, struct err *err)
{
	struct nearest nearest = {.word = name};
	_cleanup_text_ struct text known = {0};

	for (size_t i = 0; i < ARRAY_SIZE(report_rows); i++) {
		if (is_called(&report_rows[i], name)) {
			*ret_report = &report_rows[i];
			return 0;
		}
		list_names(&report_rows[i], &nearest, &known);
	}
	for (size_t i = 0; i < ARRAY_SIZE(absent_rows); i++) {
		if (is_called(&absent_rows[i], name)) {
			*ret_report = &absent_rows[i];
			return 0;
		}
	}
	/* The list is long: what may be cut off stands last. */
	return err_set(err, -EINVAL, "unknown report \"%.100s\"%s%s There are %s", name,
		       nearest_hint(&nearest, ""), nearest.best ? "" : ".", text_string(&known));
}

/* ---- options behind the name ---- */

static bool set_base(struct report_request *request, const char *value)
{
	request->names = REPORT_NAMES_BASE;
	return !value;
}

static bool set_mangled(struct report_request *request, const char *value)
{
	request->names = REPORT_NAMES_MANGLED;
	return !value;
}

static bool set_nvtx_name(struct report_request *request, const char *value)
{
	request->nvtx_name = true;
	return !value;
}

static bool set_rows(struct report_request *request, const char *value)
{
	char *end;

	if (!value || !strchr("123456789", *value) || !*value)
		return false;
	errno = 0;
	request->rows = strtoull(value, &end, 10);
	return !*end && !errno;
}

static bool set_by_thread(struct report_request *request, const char *value)
{
	request->by_thread = true;
	return !value;
}

static bool set_by_process(struct report_request *request, const char *value)
{
	request->by_process = true;
	return !value;
}

static bool set_by_line(struct report_request *request, const char *value)
{
	request->by_line = true;
	return !value;
}

static bool set_by_module(struct report_request *request, const char *value)
{
	request->by_module = true;
	return !value;
}

static bool set_alike(struct report_request *request, const char *value)
{
	request->alike = true;
	return !value;
}

static bool set_idle(struct report_request *request, const char *value)
{
	request->idle = true;
	return !value;
}

static bool set_by_frame(struct report_request *request, const char *value)
{
	request->by_frame = true;
	return !value;
}

static const struct option_word {
	const char *word, *shown;
	enum report_option option;
	bool (*set)(struct report_request *request, const char *value);
} option_words[] = {
	{"base", ":base", REPORT_TAKES_NAMES, set_base},
	{"mangled", ":mangled", REPORT_TAKES_NAMES, set_mangled},
	{"nvtx-name", ":nvtx-name", REPORT_TAKES_NVTX, set_nvtx_name},
	{"nvtx", NULL, REPORT_TAKES_NVTX, set_nvtx_name},
	{"rows", ":rows=N", REPORT_TAKES_ROWS, set_rows},
	{"thread", ":thread", REPORT_TAKES_GROUPS, set_by_thread},
	{"process", ":process", REPORT_TAKES_GROUPS, set_by_process},
	{"line", ":line", REPORT_TAKES_GROUPS, set_by_line},
	{"module", ":module", REPORT_TAKES_MODULE, set_by_module},
	{"alike", ":alike", REPORT_TAKES_ALIKE, set_alike},
	{"idle", ":idle", REPORT_TAKES_IDLE, set_idle},
	{"frames", ":frames", REPORT_TAKES_FRAMES, set_by_frame},
};

void report_append_options(const struct report *report, struct text *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_words); i++)
		if (option_words[i].shown && option_words[i].option & report->options)
			text_appendf(text, "[%s]", option_words[i].shown);
}

static int unknown_option(const struct report *report, const char *word, struct err *err)
{
	_cleanup_text_ struct text known = {0};

	report_append_options(report, &known);
	return err_set(err, -EINVAL, "the report %s takes no \":%.100s\": %s%s", report->name, word,
		       known.length ? "behind its name may stand "
				    : "nothing may stand behind its name",
		       text_string(&known));
}

/* word: "base", "rows=5"; is cut. */
static int take_option(struct report_request *request, char *word, struct err *err)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(option_words); i++)
		if (!strcmp(option_words[i].word, word) &&
		    option_words[i].option & request->report->options &&
		    option_words[i].set(request, value))
			return 0;
	if (value)
		value[-1] = '=';
	return unknown_option(request->report, word, err);
}

int report_parse(const char *words, struct report_request *ret_request, struct err *err)
{
	_cleanup_free_ char *copy = strdup(words);
	struct report_request request = {0};
	char *rest = copy, *word;
	int result;

	if (!copy)
		return err_errno(err, -ENOMEM, "can't find the report");
	result = find(strsep(&rest, ":"), &request.report, err);
	while (result == 0 && (word = strsep(&rest, ":")))
		result = take_option(&request, word, err);
	if (result == 0)
		*ret_request = request;
	return result;
}
