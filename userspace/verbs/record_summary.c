/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/record_summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/terminal.h"
#include "verbs/outputs.h"
#include "verbs/page.h"

/* Of the messages that say what was written, without the paths. */
#define WROTE_COLUMNS	      95
#define WROTE_CAPTURE_COLUMNS 55

static bool writes_to_stdout(const struct options *options)
{
	for (size_t i = 0; i < options->outputs.count; i++)
		if (!strcmp(options->outputs.items[i], "-"))
			return true;
	return false;
}

/* On the screen: of the messages so far, and of those that say what was written. */
static size_t lines_elsewhere(const struct options *options, const char *capture_path,
			      bool capture_asked)
{
	size_t lines = log_lines();

	if (log_level() > LOG_NORMAL)
		return 0; /* who asks for more has it */
	for (size_t i = 0; i < options->outputs.count; i++)
		lines += strcmp(options->outputs.items[i], capture_path ?: "") != 0
				 ? 1 + (strlen(options->outputs.items[i]) + WROTE_COLUMNS) /
						   log_columns()
				 : 0;
	if (capture_asked)
		lines += 1 + (3 * strlen(capture_path) + WROTE_CAPTURE_COLUMNS) / log_columns();
	return lines;
}

int record_summary_write(struct capture_reader *reader, const struct options *options,
			 const char *capture_path, bool capture_asked)
{
	struct blocks_style style = {
		.has_max_rows = options->given.rows,
		.max_rows = options->rows,
		.lines_elsewhere = lines_elsewhere(options, capture_path, capture_asked),
		.path = capture_asked ? capture_path : NULL,
		.columns = terminal_columns(
			writes_to_stdout(options) ? STDERR_FILENO : STDOUT_FILENO, BLOCKS_COLUMNS),
	};
	struct err err = {0};
	struct page page;
	int result = page_open(&page);

	if (result)
		err_errno(&err, result, "can't print the summary");
	style.file = writes_to_stdout(options) ? stderr : page.file;
	if (!result)
		result = summary_print(reader, &style, &err);
	if (result) {
		log_error("%s", err.message);
		page_discard(&page);
		return result;
	}
	return page_write(&page) == EXIT_SUCCESS ? 0 : -EIO;
}
