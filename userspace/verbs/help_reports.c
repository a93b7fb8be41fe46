/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpuprobe stats --help-reports: every report with its columns; of -r REPORT only these. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/temporary_file.h"
#include "store/capture_reader.h"
#include "store/capture_writer.h"
#include "verbs/page.h"
#include "verbs/verbs.h"
#include "reports/report_help.h"

/* A capture without anything in it: reports made of it have their columns and no rows. */
struct nothing {
	int fd;
	struct capture_reader *reader;
	struct view *view;
};

static int nothing_open(struct nothing *nothing, struct err *err)
{
	struct capture_writer *writer = NULL;
	int result = temporary_file_open(&nothing->fd, err);

	if (result == 0)
		result = capture_writer_create(nothing->fd, &writer, err);
	if (result == 0)
		result = capture_writer_finish(writer, err);
	capture_writer_free(writer);
	if (result == 0)
		result = capture_reader_open(nothing->fd, &nothing->reader, err);
	if (result == 0)
		result = view_open(nothing->reader, &nothing->view, err);
	return result;
}

static void nothing_close(struct nothing *nothing)
{
	view_free(nothing->view);
	capture_reader_free(nothing->reader);
	if (nothing->fd >= 0)
		close(nothing->fd);
}

static int print_asked(const struct options *options, struct view *view, FILE *file,
		       struct err *err)
{
	struct options_list names = {0};
	int result = 0;

	for (size_t i = 0; i < options->report.count && result == 0; i++)
		result = options_list_split(&names, options->report.items[i], err);
	for (size_t i = 0; i < names.count && result == 0; i++) {
		struct report_request request = {0};

		result = report_parse(names.items[i], &request, err);
		if (result == 0)
			result = report_help_print(&request, view, file, err);
	}
	options_list_free(&names);
	return result;
}

static int print_all(struct view *view, FILE *file, struct err *err)
{
	size_t count;
	const struct report *known = reports(&count);
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		const struct report_request request = {.report = &known[i]};

		fputs(i ? "\n" : "", file);
		result = report_help_print(&request, view, file, err);
	}
	return result;
}

int verb_help_reports(const struct options *options)
{
	_cleanup_(nothing_close) struct nothing nothing = {.fd = -1};
	struct page page = {0};
	struct err err = {0};
	int result = nothing_open(&nothing, &err);

	if (result == 0 && page_open(&page) < 0)
		result = err_errno(&err, -ENOMEM, "can't print the help");
	if (result == 0)
		result = options->report.count ? print_asked(options, nothing.view, page.file, &err)
					       : print_all(nothing.view, page.file, &err);
	if (result == 0)
		return page_write(&page);
	page_discard(&page);
	log_error("%s", err.message);
	return result == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}
