/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture_fixture.h"
#include "view_words.h"
#include "view/view_parts.h"

#define SPAN(kind, name, tid, ts, dur)                                                        \
	"{\"kind\":\"" kind "\",\"pid\":1,\"tid\":" #tid ",\"name\":\"" name "\",\"ts\":" #ts \
	",\"dur\":" #dur "}\n"
#define WAIT(tid, ts, dur, waker)                                                       \
	"{\"kind\":\"off_cpu\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur \
	",\"waker_pid\":1,\"waker_tid\":" #waker ",\"reason\":\"sleeping\"}\n"
/* The kernel is called as its thread. */
#define LAUNCH(correlation, tid, ts)                                                         \
	"{\"kind\":\"api\",\"pid\":1,\"tid\":" #tid                                          \
	",\"name\":\"launch\",\"correlation\":" #correlation ",\"ts\":" #ts ",\"dur\":1}\n"  \
	"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"" #tid "\",\"correlation\":" #correlation \
	",\"ts\":1000,\"dur\":1,\"device\":\"gpu\",\"stream\":\"s\"}\n"

static int kernel_span(void *data, const struct view_event *event, struct err *err)
{
	static const char marks[] = {
		[VIEW_WITHIN_NOTHING] = '-',
		[VIEW_WITHIN_OWN] = '=',
		[VIEW_WITHIN_BY_WAIT] = '!',
		[VIEW_WITHIN_BY_TIME] = '?',
	};
	struct view_words *words = data;

	if (event->kind->number != KIND_kernel || !event->cause)
		return 0;
	text_appendf(&words->text, "%s%s%c%s", words->text.length ? " " : "", event->name,
		     marks[event->cause->within.by],
		     view_path_text(words->view, event->cause->within.path) ?: "");
	return 0;
}

static void check_contexts(const char *capture, const char *expected)
{
	struct fixture fixture _fixture_ = fixture_open(capture);

	view_words_check(fixture.view, kernel_span, expected);
}

#define STEP \
	SPAN("range", "step", 1, 10, 200) SPAN("range", "backward", 1, 20, 100) LAUNCH(1, 1, 21)

TEST(work_for_a_thread_that_waits)
{
	check_contexts(STEP WAIT(1, 30, 60, 2) LAUNCH(2, 2, 40) LAUNCH(3, 2, 80),
		       "1=step/backward 2!step/backward 2!step/backward");
}

TEST(own_functions_and_ranges_of_libraries_are_inside_of_it)
{
	check_contexts(STEP WAIT(1, 30, 60, 2) SPAN("call", "gemm", 2, 40, 5) LAUNCH(2, 2, 41)
			       SPAN("range", "sort", 2, 50, 5) LAUNCH(3, 2, 51),
		       "1=step/backward 2!step/backward/gemm 2!step/backward/sort");
}

TEST(who_only_holds_a_lock_works_for_nobody)
{
	/* Its own ranges stay its own, and the other one's lie around none of its work. */
	check_contexts(STEP SPAN("range", "mine", 2, 25, 150) WAIT(1, 30, 20, 2) LAUNCH(2, 2, 40)
			       LAUNCH(3, 2, 80) LAUNCH(4, 2, 100),
		       "1=step/backward 2=mine 2=mine 2=mine");
}

TEST(without_waits_the_only_thread_with_ranges)
{
	check_contexts(STEP LAUNCH(2, 2, 40) LAUNCH(3, 2, 150) LAUNCH(4, 2, 300),
		       "1=step/backward 2?step/backward 2?step 2-");
}

TEST(functions_that_run_meanwhile_are_not_around_it)
{
	check_contexts(STEP SPAN("call", "gemm", 1, 30, 60) LAUNCH(2, 2, 40),
		       "1=step/backward 2?step/backward");
}

TEST(of_two_threads_with_ranges_it_is_not_known_which)
{
	check_contexts(STEP SPAN("range", "other", 3, 15, 100) LAUNCH(2, 3, 22) LAUNCH(3, 2, 40),
		       "1=step/backward 3=other 2-");
}

TEST(a_library_that_has_ranges_does_not_lead)
{
	/* One of three pieces of thread 2 lies in a range of a library. */
	check_contexts(STEP LAUNCH(2, 2, 40) SPAN("range", "sort", 2, 50, 5) LAUNCH(3, 2, 51)
			       LAUNCH(4, 2, 60),
		       "1=step/backward 2?step/backward 2?step/backward/sort 2?step/backward");
}

TEST(ranges_around_no_work_are_around_none_of_others)
{
	check_contexts(SPAN("range", "data", 3, 10, 200) LAUNCH(1, 1, 21), "1-");
}

TEST(of_two_that_wait_the_one_that_is_served_first)
{
	check_contexts(SPAN("range", "a", 1, 10, 100) LAUNCH(1, 1, 11)
			       SPAN("range", "b", 3, 12, 100) LAUNCH(2, 3, 13) WAIT(1, 20, 30, 2)
				       WAIT(3, 21, 60, 2) LAUNCH(3, 2, 40) LAUNCH(4, 2, 70),
		       "1=a 3=b 2!a 2!b");
}

/* ---- where one waits ---- */

#define STACK_WAIT(tid, ts, dur, waker, stack)                                                  \
	"{\"kind\":\"off_cpu\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur         \
	",\"waker_pid\":1,\"waker_tid\":" #waker ",\"reason\":\"sleeping\",\"stack\":[\"" stack \
	"\"]}\n"
#define PREEMPTED(tid, ts, dur)                                                         \
	"{\"kind\":\"off_cpu\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur \
	",\"reason\":\"preempted\"}\n"

static int waiter_span(void *data, const struct view_event *event, struct err *err)
{
	struct view_words *words = data;

	if (event->kind->number == KIND_kernel && event->cause)
		text_appendf(&words->text, "%s%s%c", words->text.length ? " " : "", event->name,
			     event->cause->within.waiter_stack ? '!' : '-');
	return 0;
}

static void check_waiters(const char *capture, const char *expected)
{
	struct fixture fixture _fixture_ = fixture_open(capture);

	view_words_check(fixture.view, waiter_span, expected);
}

/* Thread 1 wakes thread 2 at 20, and waits for it from 40 on, in which it launches the most. */
#define ENGINE                           \
	STACK_WAIT(2, 10, 10, 1, "0x10") \
	LAUNCH(1, 2, 30)                 \
	STACK_WAIT(1, 40, 50, 2, "0x20") LAUNCH(2, 2, 45) LAUNCH(3, 2, 50) LAUNCH(4, 2, 55)

TEST(who_is_woken_may_launch_before_the_other_one_waits)
{
	check_waiters(ENGINE, "2! 2! 2! 2!");
	check_waiters(ENGINE PREEMPTED(1, 21, 15), "2! 2! 2! 2!");
}

TEST(what_is_launched_when_waits_are_not_recorded_any_more_decides_nothing)
{
	check_waiters(ENGINE "{\"kind\":\"recording_end\",\"sort\":\"waits\",\"why\":\"budget\","
			     "\"ts\":100}\n" LAUNCH(5, 2, 200) LAUNCH(6, 2, 201) LAUNCH(7, 2, 202),
		      "2! 2! 2! 2! 2- 2- 2-");
}

TEST(who_did_something_else_meanwhile_may_have_woken_it_for_that)
{
	check_waiters(ENGINE STACK_WAIT(1, 21, 3, 3, "0x30"), "2- 2! 2! 2!");
	check_waiters(ENGINE LAUNCH(5, 1, 22), "2- 2! 2! 2! 1-");
	/* In a call of CUDA: a lock of the driver. */
	check_waiters(ENGINE SPAN("api", "cuCtxSynchronize", 1, 15, 10), "2- 2! 2! 2!");
}

TEST(it_may_have_been_woken_for_another_one)
{
	/* By thread 3. */
	check_waiters(ENGINE STACK_WAIT(2, 21, 5, 3, "0x10"), "2- 2! 2! 2!");
	/* Thread 3 waits for it already. */
	check_waiters(ENGINE STACK_WAIT(3, 5, 30, 2, "0x30"), "2- 2! 2! 2!");
	/* Before it was woken it did what it did for another one. */
	check_waiters(ENGINE LAUNCH(5, 2, 60) LAUNCH(6, 2, 65) LAUNCH(7, 2, 70) LAUNCH(8, 2, 8),
		      "2! 2! 2! 2! 2! 2! 2! 2-");
}

UNIT_MAIN()
