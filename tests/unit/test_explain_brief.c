/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands in front of a summary: short, whatever the capture holds. */
#include "unit.h"

#include <string.h>

#include "explain/explain.h"
#include "golden_views.h"

#define LINES_MAX 12

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	while ((text = strchr(text, '\n'))) {
		lines++;
		text++;
	}
	return lines;
}

/* Whether it has work of GPUs. */
static size_t check_lines(struct view *view, const char *path)
{
	const struct explain_style brief = {.brief = true}, whole = {0};
	struct text text = {0}, more = {0};
	struct err err = {0};

	if (!has_gpu_work(view))
		return 0;
	CHECK_OK(explain_append(view, &brief, &text, &err), err);
	CHECK_OK(explain_append(view, &whole, &more, &err), err);
	if (count_lines(text_string(&text)) > LINES_MAX)
		UNIT_FAIL("%s: %zu lines:\n%s", path, count_lines(text_string(&text)),
			  text_string(&text));
	CHECK(text.length > 0 && text.length <= more.length);
	text_free(&text);
	text_free(&more);
	return 1;
}

/* Of both, the whole and the short one. */
static size_t check_columns(struct view *view, const char *path)
{
	static const size_t widths[] = {60, 80, EXPLAIN_COLUMNS};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(widths); i++) {
		struct explain_style style = {.brief = i % 2, .columns = widths[i / 2]};
		struct text text = {0};
		struct err err = {0};

		CHECK_OK(explain_append(view, &style, &text, &err), err);
		for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
			if (text_columns(line) > style.columns)
				UNIT_FAIL("%s: longer than %zu: %s", path, style.columns, line);
		text_free(&text);
	}
	return 1;
}

TEST(no_line_is_longer_than_the_terminal_is_wide)
{
	CHECK(golden_views_check_all(check_columns) > 20);
}

TEST(it_has_twelve_lines_at_most)
{
	CHECK(golden_views_check_all(check_lines) > 20);
}

UNIT_MAIN()
