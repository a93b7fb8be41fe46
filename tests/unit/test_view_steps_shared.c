/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps that are looked for in runs of others. */
#include <errno.h>

#include "base/text.h"
#include "capture_fixture.h"
#include "steps/view_steps.h"
#include "view/view_parts.h"

#define STEPS 8

/* Ranges with that many kernels in each. */
static void write_steps(struct text *text, unsigned kernels)
{
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned ts = 1000 + 100 * i;

		text_appendf(
			text,
			"{\"kind\":\"range\",\"pid\":1,\"tid\":1,\"name\":\"step %u\",\"ts\":%u,"
			"\"dur\":90}\n",
			i, ts);
		for (unsigned n = 0; n < kernels; n++)
			text_appendf(
				text,
				"{\"kind\":\"api\",\"pid\":1,\"tid\":1,\"name\":"
				"\"cudaLaunchKernel\","
				"\"ts\":%u,\"dur\":5,\"correlation\":%u}\n"
				"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"k\",\"correlation\":%u,"
				"\"ts\":%u,\"dur\":7,\"device\":\"gpu\",\"stream\":\"s\"}\n",
				ts + 10 * n, i * kernels + n + 1, i * kernels + n + 1,
				ts + 10 * n + 2);
	}
}

/* At the kernel that many. */
static int fail_at_kernel(void *data, const struct view_event *event, struct err *err)
{
	unsigned *kernels = data;

	if (event->kind->number == KIND_kernel && !--*kernels)
		return err_set(err, -EINTR, "interrupted");
	return 0;
}

/* It finds what it does by itself, and a run that fails leaves no trace. */
TEST(the_search_shares_a_run)
{
	const struct view_sink failing = {.span = fail_at_kernel};
	struct text text _cleanup_text_ = {0};
	struct view_part parts[2];
	const struct view_steps *steps, *again;
	unsigned kernels = 7;
	struct err err = {0};

	write_steps(&text, 3);
	struct fixture fixture _fixture_ = fixture_open(text_string(&text));

	parts[1] = (struct view_part){&failing, &kernels};
	CHECK_OK(view_steps_search_begin(fixture.view, &parts[0], &err), err);
	CHECK(view_run_together(fixture.view, parts, 2, &err) == -EINTR);
	CHECK_OK(view_steps_search_begin(fixture.view, &parts[0], &err), err);
	CHECK_OK(view_run_together(fixture.view, parts, 2, &err), err);
	CHECK_OK(view_steps_search_end(fixture.view, &steps, &err), err);
	CHECK_U64(fixture.view->run_count, 2);
	CHECK_U64(steps->count, STEPS);
	CHECK_U64(view_step_work(steps->tracks, &steps->tracks[0].steps[0])->kernel_count, 0);
	CHECK_OK(view_steps(fixture.view, &again, &err), err);
	CHECK(again == steps);
	CHECK_U64(fixture.view->run_count, 3);
	for (unsigned i = 0; i < STEPS; i++)
		CHECK_U64(view_step_work(steps->tracks, &steps->tracks[0].steps[i])->kernel_count,
			  3);
	/* All is known. */
	CHECK_OK(view_steps_search_begin(fixture.view, &parts[0], &err), err);
	CHECK(!parts[0].sink && !view_steps_work_part(fixture.view).sink);
}

TEST(without_work_of_a_gpu_there_is_no_pass_for_it)
{
	struct text text _cleanup_text_ = {0};
	const struct view_steps *steps;
	struct err err = {0};

	write_steps(&text, 0);
	struct fixture fixture _fixture_ = fixture_open(text_string(&text));

	CHECK_OK(view_steps(fixture.view, &steps, &err), err);
	CHECK_U64(steps->count, STEPS);
	CHECK_U64(fixture.view->run_count, 1);
}

UNIT_MAIN()
