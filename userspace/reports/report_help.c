/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/report_help.h"

#include <string.h>

#include "reports/report_runs.h"
#include "reports/report_table.h"

static const struct {
	const char *report, *column, *words;
} rows[] = {
#define WORDS(report, column, words) {report, column, words},
#include "reports/report_words.def"
};

/* "Avg (ns)" -> 3 */
static size_t length_without_unit(const char *name)
{
	size_t length = strlen(name);
	const char *unit = strrchr(name, '(');

	return unit && unit - name > 1 && name[length - 1] == ')' ? (size_t)(unit - name - 1)
								  : length;
}

const char *report_column_words(const struct report *report, const char *name)
{
	size_t length = length_without_unit(name);
	const char *general = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strlen(rows[i].column) != length || strncmp(rows[i].column, name, length) != 0)
			continue;
		if (!strcmp(rows[i].report, report->name))
			return rows[i].words;
		if (!*rows[i].report)
			general = rows[i].words;
	}
	return general;
}

static void print_columns(const struct report *report, const struct report_table *table, FILE *file)
{
	for (size_t i = 0; i < table->column_count; i++) {
		const char *name = table->columns[i].name;
		const char *words = report_column_words(report, name);

		fprintf(file, "      %-26s  %s\n", name, words ? words : "");
	}
}

int report_help_print(const struct report_request *request, struct view *view, FILE *file,
		      struct err *err)
{
	const struct report *report = request->report;
	_cleanup_report_table_ struct report_table table = {0};
	_cleanup_text_ struct text options = {0};
	int result = report_runs_one(view, request, &table, err);

	if (result < 0)
		return result;
	report_append_options(report, &options);
	fprintf(file, "%s%s\n    %s: %s\n", report->name, text_string(&options), table.title,
		report->meaning);
	if (report->aliases[0]) {
		fputs("    also called", file);
		for (size_t i = 0; i < REPORT_ALIASES_MAX && report->aliases[i]; i++)
			fprintf(file, "%s %s", i ? "," : "", report->aliases[i]);
		fputc('\n', file);
	}
	print_columns(report, &table, file);
	return 0;
}
