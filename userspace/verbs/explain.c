/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a capture says, in one screen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/terminal.h"
#include "explain/explain.h"
#include "steps/view_steps.h"
#include "verbs/input.h"
#include "verbs/page.h"
#include "verbs/verbs.h"

static int print(const struct text *text)
{
	struct page page;

	if (page_open(&page) < 0) {
		log_error("out of memory");
		return EXIT_FAILURE;
	}
	fwrite(text_string(text), 1, text->length, page.file);
	return page_write(&page);
}

int verb_explain(const struct options *options)
{
	struct explain_style style = {
		.path = options->arguments.items[0],
		.columns = terminal_columns(STDOUT_FILENO, EXPLAIN_COLUMNS),
	};
	struct text text _cleanup_text_ = {0};
	struct input input = {-1, NULL};
	struct view *view = NULL;
	struct err err = {0};
	int exit_code = EXIT_FAILURE, result = 0;

	if (options->format)
		result = explain_format_find(options->format, &style.format, &err);
	if (result < 0)
		exit_code = EXIT_USAGE;
	if (result == 0)
		result = input_open(style.path, &input, &err);
	if (result == 0)
		result = view_open(input.reader, &view, &err);
	if (result == 0 && view_set_step_name(view, options->step_name) < 0)
		result = err_errno(&err, -ENOMEM, "can't read the capture");
	if (result == 0)
		result = explain_append(view, &style, &text, &err);
	if (result < 0)
		log_error("%s", err.message);
	else
		exit_code = print(&text);
	view_free(view);
	input_close(&input);
	return exit_code;
}
