/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of what a capture holds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/terminal.h"
#include "verbs/input.h"
#include "verbs/table_output.h"
#include "verbs/verbs.h"
#include "reports/blocks.h"
#include "steps/view_steps.h"

/* One table, and where it goes. */
struct table {
	struct report_request request;
	const char *words; /* as it was asked for */
	const char *output;
	enum report_format format;
	bool unasked; /* where it has no rows nobody misses it */
};

/* What was asked for; texts are in copies. */
struct stats {
	const struct options *options;
	const char *path; /* of the capture */
	struct options_list reports, outputs, formats;
	struct table *tables;
	size_t count;
	const struct report_time_unit *time_unit;
	bool summary; /* is printed instead of reports */
};

/* ---- what is wanted ---- */

static int split_all(const struct options_list *words, struct options_list *list, struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < words->count && result == 0; i++)
		result = options_list_split(list, words->items[i], err);
	return result;
}

/* The one that stands at the same place, else the last; NULL: there is none. */
static const char *item_at(const struct options_list *list, size_t place)
{
	if (!list->count)
		return NULL;
	return list->items[place < list->count ? place : list->count - 1];
}

/* Reports, outputs and formats go side by side. */
static int set_place(const struct stats *stats, size_t place, struct table *table, struct err *err)
{
	const char *format = item_at(&stats->formats, place);

	table->output = item_at(&stats->outputs, place);
	if (!table->output)
		table->output = "-";
	if (format && strcmp(format, ".") != 0)
		return report_format_find(format, &table->format, err);
	table->format = table_output_type(table->output) == TABLE_OUTPUT_STANDARD ? REPORT_COLUMN
										  : REPORT_CSV;
	return 0;
}

static bool has_report(const struct stats *stats, const struct report *report)
{
	for (size_t i = 0; i < stats->count; i++)
		if (stats->tables[i].request.report == report)
			return true;
	return false;
}

static bool has_table(const struct stats *stats, const struct table *table)
{
	for (size_t i = 0; i < stats->count; i++)
		if (!strcmp(stats->tables[i].words, table->words) &&
		    !strcmp(stats->tables[i].output, table->output) &&
		    stats->tables[i].format == table->format)
			return true;
	return false;
}

static bool goes_to_people(const struct table *table)
{
	return report_format_is_for_people(table->format) &&
	       table_output_type(table->output) == TABLE_OUTPUT_STANDARD;
}

/* Once, for people with those that belong behind it; programs get one table for one name. */
static int add_table(struct stats *stats, const char *words, size_t place, struct err *err)
{
	struct table table = {.words = words};
	int result = report_parse(words, &table.request, err);

	if (result == 0)
		result = set_place(stats, place, &table, err);
	if (result < 0 || has_table(stats, &table))
		return result;
	stats->tables[stats->count++] = table;
	while (result == 0 && goes_to_people(&table) && report_then(table.request.report)) {
		table.words = report_then(table.request.report);
		result = report_parse(table.words, &table.request, err);
		if (result == 0 && !has_report(stats, table.request.report))
			stats->tables[stats->count++] = table;
	}
	return result;
}

static int read_options(struct stats *stats, struct err *err)
{
	const struct options *options = stats->options;
	size_t known;
	int result = split_all(&options->report, &stats->reports, err);
	struct table unused;

	reports(&known);
	if (result == 0)
		result = split_all(&options->outputs, &stats->outputs, err);
	if (result == 0 && options->format)
		result = options_list_split(&stats->formats, options->format, err);
	for (size_t i = 0; i < stats->formats.count && result == 0; i++)
		result = set_place(stats, i, &unused, err);
	if (result == 0 && options->time_unit)
		result = report_time_unit_find(options->time_unit, &stats->time_unit, err);
	if (result < 0)
		return result;
	stats->tables = calloc(2 * stats->reports.count + known, sizeof(*stats->tables));
	if (!stats->tables)
		return err_errno(err, -ENOMEM, "can't print the reports");
	for (size_t i = 0; i < stats->reports.count && result == 0; i++)
		result = add_table(stats, stats->reports.items[i], i, err);
	return result;
}

/* People get the summary, programs the reports that it is made of, those in boxes or files too. */
static int add_default_tables(struct stats *stats, struct view *view, struct err *err)
{
	_cleanup_free_ struct report_request *requests = NULL;
	struct table first = {0};
	size_t known, count = 0;
	int result = stats->count ? 0 : set_place(stats, 0, &first, err);

	if (result < 0 || stats->count)
		return result;
	stats->summary = first.format == REPORT_COLUMN && stats->formats.count < 2 &&
			 table_output_type(first.output) == TABLE_OUTPUT_STANDARD;
	if (stats->summary)
		return 0;
	reports(&known);
	requests = calloc(known, sizeof(*requests));
	if (!requests)
		return err_errno(err, -ENOMEM, "can't print the reports");
	result = blocks_reports(view, requests, &count, err);
	for (size_t i = 0; i < count && result == 0; i++) {
		struct table *table = &stats->tables[stats->count++];

		table->request = requests[i];
		table->unasked = true;
		table->words = requests[i].report->name;
		result = set_place(stats, i, table, err);
	}
	return result;
}

/* ---- printing ---- */

/* Tables of JSON behind each other in one place are one object, with the name of each report as its key. */
static size_t count_together(const struct stats *stats, size_t first)
{
	const struct table *tables = stats->tables;
	size_t count = 1;

	if (table_output_type(tables[first].output) != TABLE_OUTPUT_STANDARD)
		return 1;
	while (first + count < stats->count &&
	       tables[first + count].format == tables[first].format &&
	       table_output_type(tables[first + count].output) == TABLE_OUTPUT_STANDARD)
		count++;
	return count;
}

/* Does something stand above it on standard output? */
static bool is_behind_another(const struct stats *stats, const struct table *table)
{
	if (table_output_type(table->output) != TABLE_OUTPUT_STANDARD)
		return false;
	for (const struct table *other = stats->tables; other < table; other++)
		if (table_output_type(other->output) == TABLE_OUTPUT_STANDARD)
			return true;
	return false;
}

static void print_before(const struct stats *stats, const struct table *tables, size_t count,
			 size_t i, FILE *file)
{
	bool behind_another = is_behind_another(stats, &tables[i]);
	_cleanup_text_ struct text key = {0};

	if (tables[i].format == REPORT_JSON && count > 1) {
		json_append_string(&key, tables[i].words);
		fprintf(file, "%s%s: ", i ? "," : "{", text_string(&key));
	} else if (behind_another && !report_format_is_for_people(tables[i].format)) {
		fputc('\n', file);
	}
}

/* The table itself says it to people. */
static void warn_of_nothing(const struct stats *stats, const struct table *table)
{
	const char *data = table->request.report->data;

	if (data && !report_format_is_for_people(table->format))
		log_warning("SKIPPED: %s does not contain %s.", stats->path, data);
}

/* result: of the printing. Whoever reads it may have gone: no failure of ours. */
static int close_output(struct table_output *output, int result, struct err *err)
{
	if (result == 0 || result == -EPIPE)
		return table_output_close(output, true, err);
	table_output_close(output, false, NULL);
	return result;
}

static int print_together(const struct stats *stats, struct view *view, const struct table *tables,
			  size_t count, struct err *err)
{
	struct report_style style = {
		.format = tables->format, .time_unit = stats->time_unit, .path = stats->path};
	struct table_output output = {0};
	u64 row_count = 0;
	int result =
		table_output_open(tables->output, tables->words, stats->options->arguments.items[0],
				  tables->format, &output, err);

	if (result < 0)
		return result;
	style.file = output.file;
	/* Programs want everything; people ask for more. */
	if (goes_to_people(tables) || stats->options->given.rows)
		style.max_rows = stats->options->rows;
	for (size_t i = 0; i < count && result == 0; i++) {
		print_before(stats, tables, count, i, output.file);
		style.skip_empty = tables[i].unasked;
		result = report_print(&tables[i].request, view, &style, &row_count, err);
		if (result == 0 && !row_count)
			warn_of_nothing(stats, &tables[i]);
	}
	if (result == 0 && tables->format == REPORT_JSON && count > 1)
		fputs("}\n", output.file);
	return close_output(&output, result, err);
}

static int print_summary(const struct stats *stats, struct view *view, struct err *err)
{
	const struct options *options = stats->options;
	struct blocks_style style = {.has_max_rows = options->given.rows,
				     .max_rows = options->rows,
				     .columns = terminal_columns(STDOUT_FILENO, BLOCKS_COLUMNS),
				     .path = options->arguments.items[0]};
	struct table_output output = {0};
	int result = table_output_open("-", "", style.path, REPORT_COLUMN, &output, err);

	if (result < 0)
		return result;
	style.file = output.file;
	return close_output(&output, blocks_print(view, &style, err), err);
}

static int print_tables(const struct stats *stats, struct view *view, struct err *err)
{
	int result = 0;

	if (stats->summary)
		return print_summary(stats, view, err);
	for (size_t i = 0; i < stats->count && result == 0;) {
		size_t count = count_together(stats, i);

		result = print_together(stats, view, &stats->tables[i], count, err);
		i += count;
	}
	return result;
}

/* No table may look complete when it is not. */
static void warn_of_losses(const struct stats *stats, const struct view *view)
{
	const struct view_survey *survey = view_survey(view);

	if (survey->cut)
		log_warning("%s: the recording was cut short: the file ends in the middle, what "
			    "came later is missing",
			    stats->path);
	for (size_t i = 0; i < stats->count; i++)
		if (strcmp(stats->tables[i].request.report->name, "ledger") == 0)
			return;
	if (!survey->cut && !view_is_complete(survey))
		log_warning("%s: something is missing, or not as it seems: -r ledger tells what",
			    stats->path);
}

static void stats_free(struct stats *stats)
{
	options_list_free(&stats->reports);
	options_list_free(&stats->outputs);
	options_list_free(&stats->formats);
	free(stats->tables);
}

int verb_stats(const struct options *options)
{
	const char *path = options->arguments.items[0];
	_cleanup_(stats_free) struct stats stats = {
		.options = options, .path = strcmp(path, "-") ? path : "standard input"};
	struct input input = {-1, NULL};
	struct view *view = NULL;
	struct err err = {0};
	int exit_code = EXIT_FAILURE, result;

	result = read_options(&stats, &err);
	if (result == -EINVAL)
		exit_code = EXIT_USAGE;
	if (result == 0)
		result = input_open(path, &input, &err);
	if (result == 0)
		result = view_open(input.reader, &view, &err);
	if (result == 0 && view_set_step_name(view, options->step_name) < 0)
		result = err_errno(&err, -ENOMEM, "can't read the capture");
	if (result == 0)
		result = add_default_tables(&stats, view, &err);
	if (result == 0)
		result = print_tables(&stats, view, &err);
	if (result == 0) {
		warn_of_losses(&stats, view);
		exit_code = EXIT_SUCCESS;
	} else {
		log_error("%s", err.message);
	}
	view_free(view);
	input_close(&input);
	return exit_code;
}
