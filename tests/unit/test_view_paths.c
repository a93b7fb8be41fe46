/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"
#include "capture_fixture.h"
#include "view_words.h"
#include "view/view_parts.h"

#define SPAN(kind, name, tid, ts, dur)                                                        \
	"{\"kind\":\"" kind "\",\"pid\":1,\"tid\":" #tid ",\"name\":\"" name "\",\"ts\":" #ts \
	",\"dur\":" #dur "}\n"
#define API(name, correlation, tid, ts)                                 \
	"{\"kind\":\"api\",\"pid\":1,\"tid\":" #tid ",\"name\":\"" name \
	"\",\"correlation\":" #correlation ",\"ts\":" #ts ",\"dur\":1}\n"
#define KERNEL(correlation, ts)                                                       \
	"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"k\",\"correlation\":" #correlation \
	",\"ts\":" #ts ",\"dur\":1,\"device\":\"gpu\",\"stream\":\"s\"}\n"

static void append_path(const struct view *view, u32 number, struct text *text)
{
	const struct view_path *path = view_path(view, number);

	if (!path)
		return;
	append_path(view, path->parent, text);
	text_appendf(text, "/%s", path->name);
}

static int kernel_span(void *data, const struct view_event *event, struct err *err)
{
	struct view_words *words = data;

	if (event->kind->number != KIND_kernel || !event->cause)
		return 0;
	text_append(&words->text, words->text.length ? " " : "");
	append_path(words->view, event->cause->path, &words->text);
	text_append(&words->text, event->cause->path ? "" : "-");
	return 0;
}

static void check_paths(struct view *view, const char *expected)
{
	view_words_check(view, kernel_span, expected);
}

TEST(ranges_and_functions_around_a_launch)
{
	struct fixture fixture _fixture_ = fixture_open(
		SPAN("range", "step", 1, 10, 100) SPAN("call", "gemm", 1, 20, 30)
			API("launch", 7, 1, 25) API("launch", 8, 1, 60) API("launch", 9, 1, 200)
				KERNEL(7, 300) KERNEL(8, 301) KERNEL(9, 302));

	check_paths(fixture.view, "/step/gemm /step -");
}

TEST(ranges_of_other_threads_do_not_count)
{
	struct fixture fixture _fixture_ = fixture_open(
		SPAN("range", "mine", 1, 10, 100) SPAN("range", "theirs", 2, 11, 100)
			API("launch", 7, 1, 25) API("launch", 8, 2, 26) API("launch", 9, 3, 27)
				KERNEL(7, 300) KERNEL(8, 301) KERNEL(9, 302));

	check_paths(fixture.view, "/mine /theirs -");
}

TEST(ranges_that_cross)
{
	struct fixture fixture _fixture_ =
		fixture_open(SPAN("range", "a", 1, 10, 20) SPAN("range", "b", 1, 20, 40)
				     SPAN("range", "c", 1, 25, 30) API("launch", 7, 1, 27)
					     API("launch", 8, 1, 40) API("launch", 9, 1, 57)
						     KERNEL(7, 300) KERNEL(8, 301) KERNEL(9, 302));

	check_paths(fixture.view, "/a/b/c /b/c /b");
}

TEST(one_name_in_two_places_are_two_paths)
{
	struct fixture fixture _fixture_ =
		fixture_open(SPAN("range", "a", 1, 10, 20) SPAN("range", "x", 1, 15, 5)
				     API("launch", 7, 1, 16) SPAN("range", "x", 1, 50, 5)
					     API("launch", 8, 1, 51) KERNEL(7, 300) KERNEL(8, 301));

	check_paths(fixture.view, "/a/x /x");
}

UNIT_MAIN()
