/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands in front of a summary: short, whatever the capture holds. */
#include "unit.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "explain/explain.h"
#include "verbs/input.h"
#include "view/view.h"

#define LINES_MAX 12

/* From the folder in which the tests are built. */
#define FIXTURES "/../../tests/golden/*.ndjson"

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
static bool check_fixture(const char *path)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	const struct explain_style brief = {.brief = true}, whole = {0};
	struct input input;
	struct view *view = NULL;
	struct err err = {0};
	bool has_work;

	CHECK_OK(input_open(path, &input, &err), err);
	CHECK_OK(view_open(input.reader, &view, &err), err);
	has_work = view_has_any(view, work);
	if (has_work) {
		struct text text = {0}, more = {0};

		CHECK_OK(explain_append(view, &brief, &text, &err), err);
		CHECK_OK(explain_append(view, &whole, &more, &err), err);
		if (count_lines(text_string(&text)) > LINES_MAX)
			UNIT_FAIL("%s: %zu lines:\n%s", path, count_lines(text_string(&text)),
				  text_string(&text));
		CHECK(text.length > 0 && text.length <= more.length);
		text_free(&text);
		text_free(&more);
	}
	view_free(view);
	input_close(&input);
	return has_work;
}

TEST(it_has_twelve_lines_at_most)
{
	char pattern[PATH_MAX];
	ssize_t length =
		readlink("/proc/self/exe", pattern, sizeof(pattern) - sizeof(FIXTURES) - 1);
	size_t with_work = 0;
	glob_t found;

	CHECK(length > 0);
	pattern[length] = 0;
	snprintf(strrchr(pattern, '/'), sizeof(FIXTURES), "%s", FIXTURES);
	CHECK(!glob(pattern, 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!strstr(found.gl_pathv[i], ".out.ndjson"))
			with_work += check_fixture(found.gl_pathv[i]);
	globfree(&found);
	CHECK(with_work > 20);
}

UNIT_MAIN()
