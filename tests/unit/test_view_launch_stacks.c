/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of calls of CUDA that tell the correlation id of their call (--launch-stacks agent): which launch has which. */
#include "base/text.h"
#include "capture_fixture.h"
#include "view/view_parts.h"

#define API(name, source, correlation, ts, dur)                                         \
	"{\"kind\":\"api\",\"source\":" #source ",\"pid\":1,\"tid\":1,\"name\":\"" name \
	"\",\"correlation\":" #correlation ",\"ts\":" #ts ",\"dur\":" #dur "}\n"
#define KERNEL(name, source, correlation, ts)                                    \
	"{\"kind\":\"kernel\",\"source\":" #source ",\"pid\":1,\"name\":\"" name \
	"\",\"correlation\":" #correlation ",\"ts\":" #ts                        \
	",\"dur\":5,\"device\":\"gpu\",\"stream\":\"s\"}\n"
#define STACK(address, source, correlation, ts)                                             \
	"{\"kind\":\"launch_stack\",\"source\":" #source ",\"pid\":1,\"tid\":1,\"ts\":" #ts \
	",\"stack\":[\"" address "\"],\"launches\":1,\"call_correlation\":" #correlation "}\n"

struct told {
	const struct view *view;
	struct text text;
};

static int told_open(void *data, const struct view *view, const struct view_survey *survey,
		     struct err *err)
{
	((struct told *)data)->view = view;
	return 0;
}

/* "kernel<call@address" */
static int told_span(void *data, const struct view_event *event, struct err *err)
{
	struct told *told = data;
	const u64 *addresses;
	u32 stack;

	if (event->kind->number != KIND_kernel)
		return 0;
	stack = event->cause ? event->cause->stack.stack : 0;
	text_appendf(&told->text, "%s%s<%s", told->text.length ? " " : "", event->name,
		     event->cause ? event->cause->name : "?");
	if (stack && view_stack(told->view, stack, &addresses))
		text_appendf(&told->text, "@%llx", (unsigned long long)addresses[0]);
	return 0;
}

static void check_stacks(struct view *view, const char *expected)
{
	const struct view_sink sink = {.open = told_open, .span = told_span};
	struct told told = {0};
	struct err err = {0};

	CHECK_OK(view_run(view, &sink, &told, &err), err);
	CHECK_STRING(text_string(&told.text), expected);
	text_free(&told.text);
}

TEST(a_stack_is_that_of_the_call_with_its_number)
{
	struct fixture fixture _fixture_ = fixture_open(
		STACK("0x1111", 3, 7, 10) API("one", 3, 7, 11, 5) STACK("0x2222", 3, 8, 20)
			API("two", 3, 8, 21, 5) KERNEL("a", 3, 7, 30) KERNEL("b", 3, 8, 40));

	check_stacks(fixture.view, "a<one@1111 b<two@2222");
}

TEST(whatever_clocks_make_of_their_order)
{
	/* The call before its stack, and behind a call that comes later. */
	struct fixture fixture _fixture_ = fixture_open(
		API("one", 3, 7, 10, 5) API("two", 3, 8, 11, 5) STACK("0x2222", 3, 8, 12)
			STACK("0x1111", 3, 7, 13) KERNEL("a", 3, 7, 30) KERNEL("b", 3, 8, 40));

	check_stacks(fixture.view, "a<one@1111 b<two@2222");
}

TEST(calls_in_each_other_have_one_stack)
{
	struct fixture fixture _fixture_ = fixture_open(STACK("0x1111", 3, 7, 10) API(
		"runtime", 3, 7, 11, 50) API("driver", 3, 7, 20, 10) KERNEL("a", 3, 7, 30));

	check_stacks(fixture.view, "a<runtime@1111");
}

TEST(numbers_of_other_sources_are_others)
{
	struct fixture fixture _fixture_ = fixture_open(
		STACK("0x1111", 3, 7, 10) API("mine", 3, 7, 11, 5) API("theirs", 4, 7, 12, 5)
			KERNEL("a", 3, 7, 30) KERNEL("b", 4, 7, 40));

	check_stacks(fixture.view, "a<mine@1111 b<theirs");
}

TEST(a_number_used_again_is_another_call)
{
	struct fixture fixture _fixture_ = fixture_open(
		STACK("0x1111", 3, 7, 10) API("one", 3, 7, 11, 5) KERNEL("a", 3, 7, 20)
			STACK("0x2222", 3, 7, 30) API("two", 3, 7, 31, 5) KERNEL("b", 3, 7, 40)
		/* One whose stack was not taken, long after. */
		API("three", 3, 7, 900000000, 5) KERNEL("c", 3, 7, 900000040));

	check_stacks(fixture.view, "a<one@1111 b<two@2222 c<three");
}

TEST(numbers_that_share_a_place)
{
	struct fixture fixture _fixture_ = fixture_open(
		STACK("0x1111", 3, 7, 10) STACK("0x2222", 3, 8199, 11) API("one", 3, 7, 12, 5)
			API("two", 3, 8199, 13, 5) KERNEL("a", 3, 7, 30) KERNEL("b", 3, 8199, 40));

	/* One is forgotten; none has that of the other. */
	check_stacks(fixture.view, "a<one b<two");
}

UNIT_MAIN()
