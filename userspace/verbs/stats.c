/* Tables of what a capture holds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "verbs/input.h"
#include "verbs/page.h"
#include "verbs/verbs.h"
#include "view/reports.h"
#include "view/view_steps.h"

struct request {
	struct report_request *reports;
	size_t count;
	enum report_format format;
	u64 rows;
};

static bool has_report(const struct request *request, const struct report *report)
{
	for (size_t i = 0; i < request->count; i++)
		if (request->reports[i].report == report)
			return true;
	return false;
}

/* For people with those that belong behind it; programs get one table for one name. */
static int add_report(struct request *request, const char *words, struct err *err)
{
	struct report_request report;
	int result = report_parse(words, &report, err);

	if (result < 0)
		return result;
	request->reports[request->count++] = report;
	while (result == 0 && request->format == REPORT_COLUMN && report_then(report.report)) {
		result = report_parse(report_then(report.report), &report, err);
		if (result == 0 && !has_report(request, report.report))
			request->reports[request->count++] = report;
	}
	return result;
}

static int read_request(const struct options *options, struct request *request, struct err *err)
{
	const char *const *names = (const char *const *)options->report.items;
	size_t known;
	int result = 0;

	reports(&known);
	request->count = options->report.count;
	if (options->format)
		result = report_format_find(options->format, &request->format, err);
	/* Programs want everything; people ask for more. */
	request->rows = request->format == REPORT_COLUMN || options->given.rows ? options->rows : 0;
	request->reports = calloc(2 * request->count + known, sizeof(*request->reports));
	if (!request->reports)
		return err_errno(err, -ENOMEM, "can't print the reports");
	request->count = 0;
	for (size_t i = 0; i < options->report.count && result == 0; i++)
		result = add_report(request, names[i], err);
	return result;
}

/* People get what the capture holds something of; for programs the shape does not depend on that. */
static int add_default_reports(struct request *request, struct view *view, struct err *err)
{
	int result = 0;

	if (request->count)
		return 0;
	if (request->format == REPORT_COLUMN)
		result = reports_with_rows(view, request->reports, &request->count, err);
	if (result < 0 || request->count)
		return result;
	request->count = 1;
	return report_parse("functions", &request->reports[0], err);
}

/* Several tables of JSON are one object, with the name of each report as its key. */
static void print_before(const struct request *request, size_t i, FILE *file)
{
	_cleanup_text_ struct text key = {0};
	bool object = request->format == REPORT_JSON && request->count > 1;

	if (!object) {
		fputs(i ? "\n" : "", file);
		return;
	}
	json_append_string(&key, request->reports[i].report->name);
	fprintf(file, "%s%s: ", i ? "," : "{", text_string(&key));
}

static int print_reports(const struct request *request, struct view *view, FILE *file,
			 struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < request->count && result == 0; i++) {
		print_before(request, i, file);
		result = report_print(&request->reports[i], view, request->format, request->rows,
				      file, err);
	}
	if (request->format == REPORT_JSON && request->count > 1)
		fputs("}\n", file);
	return result;
}

/* No table may look complete when it is not. */
static void warn_of_losses(const struct request *request, const struct view *view, const char *path)
{
	const struct view_survey *survey = view_survey(view);

	path = strcmp(path, "-") ? path : "standard input";
	if (survey->cut)
		log_warning("%s: the recording was cut: what came later is missing", path);
	for (size_t i = 0; i < request->count; i++)
		if (strcmp(request->reports[i].report->name, "ledger") == 0)
			return;
	if (survey->loss_count)
		log_warning("%s: something is missing, or not as it seems: -r ledger tells what",
			    path);
}

int verb_stats(const struct options *options)
{
	const char *path = options->arguments.items[0];
	struct request request = {0};
	struct input input = {-1, NULL};
	struct view *view = NULL;
	struct page page = {0};
	struct err err = {0};
	int exit_code = EXIT_FAILURE, result;

	result = read_request(options, &request, &err);
	if (result == -EINVAL)
		exit_code = EXIT_USAGE;
	if (result == 0)
		result = input_open(path, &input, &err);
	if (result == 0)
		result = view_open(input.reader, &view, &err);
	if (result == 0)
		view_set_step_name(view, options->step_name);
	if (result == 0)
		result = add_default_reports(&request, view, &err);
	if (result == 0 && page_open(&page) < 0)
		result = err_errno(&err, -ENOMEM, "can't print the reports");
	if (result == 0)
		result = print_reports(&request, view, page.file, &err);
	if (result == 0) {
		warn_of_losses(&request, view, path);
		exit_code = page_write(&page);
	} else {
		log_error("%s", err.message);
	}
	page_discard(&page);
	view_free(view);
	input_close(&input);
	free(request.reports);
	return exit_code;
}
