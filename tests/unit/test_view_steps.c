/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "step_lines.h"

static void check_lines(struct lines *lines, const char *glob, const char *expected)
{
	struct fixture fixture _fixture_ = fixture_open(text_string(&lines->text));

	check_tracks(steps_of(&fixture, glob), expected);
}

/* Steps are found in a capture of which not so much can be kept, too: without the last one where launches tell them, and beginning so much
 * later. */
static void check_limits(const struct lines *lines, const struct view_steps *expected,
			 struct steps_limits limits, unsigned missing, u64 later_ns)
{
	struct fixture fixture _fixture_ = fixture_open(text_string(&lines->text));
	const struct view_step_track *track;

	limits.steps = VIEW_STEPS_MAX;
	steps_state(fixture.view)->limits = limits;
	track = steps_of(&fixture, NULL)->tracks;
	CHECK_U64(steps_state(fixture.view)->steps.track_count, expected->track_count);
	CHECK_U64(steps_state(fixture.view)->steps.count, expected->count - missing);
	for (size_t i = 0; i < expected->tracks[0].count - missing && track; i++) {
		const struct view_step *step = &expected->tracks[0].steps[i];

		CHECK_U64(track->steps[i].start_ns, step->start_ns + later_ns);
		CHECK_U64(track->steps[i].end_ns, step->end_ns + later_ns);
		CHECK_U64(view_step_work(track, &track->steps[i])->kernel_count,
			  view_step_work(expected->tracks, step)->kernel_count);
		CHECK_STRING(track->steps[i].name, step->name);
	}
}

TEST(ranges_named_like_steps)
{
	struct lines lines = {.now_ns = 1000};

	span(&lines, "range", "train", 1, 900, 30000);
	for (unsigned i = 0; i < 5; i++) {
		unsigned long long from = lines.now_ns;
		char name[32];

		snprintf(name, sizeof(name), "train_step %u", 10 + i);
		work(&lines, 1, 0);
		span(&lines, "range", "iteration", 1, from + 1, lines.now_ns - 501);
		span(&lines, "range", name, 1, from, lines.now_ns - 500);
	}
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&lines.text));
		const struct view_steps *steps = steps_of(&fixture, NULL);
		const struct view_step *step = &steps->tracks[0].steps[3];
		const struct view_step_work *work = view_step_work(steps->tracks, step);

		check_tracks(steps, "1:NVTX range:5");
		CHECK(steps->tracks[0].spans);
		CHECK_U64(step->number, 3);
		CHECK_U64(step->named_number, 13);
		CHECK_STRING(step->name, "train_step 13");
		CHECK_U64(step->start_ns, 1000 + 3 * 1050);
		CHECK_U64(step->end_ns, 1000 + 4 * 1050 - 500);
		CHECK_U64(work->kernel_count, 4);
		CHECK_U64(work->kernel_ns, 200);
		CHECK_U64(work->copy_count, 1);
		CHECK_U64(work->copy_bytes, 1000);
		CHECK_U64(work->first_ns, step->start_ns + 10);
		/* The last kernel begins 50 behind the begin; all overlap but the copy. */
		CHECK_U64(work->last_ns, step->start_ns + 100);
		CHECK_U64(work->busy_ns, 5 + 80);
		CHECK_U64(work->device_count, 1);
		CHECK_U64(work->devices[0].busy_ns, 85);
		CHECK(view_steps_at(steps, steps->tracks[0].row_index, step->start_ns) == step);
		CHECK(view_steps_at(steps, steps->tracks[0].row_index, step->end_ns - 1) == step);
		CHECK(!view_steps_at(steps, steps->tracks[0].row_index, step->end_ns));
		CHECK(!view_steps_at(steps, steps->tracks[0].row_index, 999));
		check_limits(&lines, steps, (struct steps_limits){.spans = 3}, 0, 0);
	}
	text_free(&lines.text);
}

TEST(ranges_that_are_no_steps)
{
	struct lines lines = {.now_ns = 1000};

	/* A range once, an epoch three times, a part of each step, and one that had not ended. */
	span(&lines, "range", "train", 1, 900, 90000);
	for (unsigned i = 0; i < 3; i++) {
		unsigned long long from = lines.now_ns;

		kernel(&lines, "a", 1, 0);
		span(&lines, "range", "forward step", 1, from, lines.now_ns);
		kernel(&lines, "b", 1, 0);
		span(&lines, "range", "epoch", 1, from, lines.now_ns);
	}
	text_append(&lines.text,
		    "{\"kind\":\"range\",\"pid\":1,\"tid\":1,\"name\":\"step\",\"ts\":50000}\n");
	check_lines(&lines, NULL, "");
	text_free(&lines.text);
}

TEST(a_range_that_comes_again_with_all_launches_inside)
{
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0; i < 20; i++) {
		unsigned long long from = lines.now_ns;

		for (unsigned layer = 0; layer < 3; layer++) {
			unsigned long long inner = lines.now_ns;

			kernel(&lines, "layer", 1, 0);
			span(&lines, "range", "layer", 1, inner, lines.now_ns);
		}
		span(&lines, "range", "request", 1, from, lines.now_ns);
		lines.now_ns += 100;
	}
	check_lines(&lines, NULL, "1:NVTX range:20");
	text_free(&lines.text);
}

TEST(graph_launches)
{
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0; i < 10; i++)
		work(&lines, 1, 7);
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&lines.text));
		const struct view_steps *steps = steps_of(&fixture, NULL);
		const struct view_step_track *track = steps->tracks;

		/* With what comes before the graph; the last one ends with its last call. */
		check_tracks(steps, "1:graph launch:10");
		CHECK(!track->spans);
		for (unsigned i = 0; i < 10; i++) {
			CHECK_U64(track->steps[i].start_ns, 1000 + i * 1060);
			CHECK_U64(track->steps[i].end_ns, 1000 + i * 1060 + (i < 9 ? 1060 : 55));
			CHECK_U64(view_step_work(track, &track->steps[i])->kernel_count, 5);
		}
		check_limits(&lines, steps, (struct steps_limits){.launches = 35}, 1, 40);
	}
	text_free(&lines.text);
}

TEST(a_step_begins_where_a_call_around_its_root_begins)
{
	struct lines lines = {.now_ns = 1000};

	span(&lines, "call", "main", 1, 900, 90000);
	for (unsigned i = 0; i < 10; i++) {
		unsigned long long from = lines.now_ns;

		work(&lines, 1, 7);
		span(&lines, "call", "do_it", 1, from - 2, lines.now_ns - 100);
		span(&lines, "call", "inner", 1, from - 1, lines.now_ns - 100);
	}
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&lines.text));
		const struct view_steps *steps = steps_of(&fixture, NULL);

		check_tracks(steps, "1:graph launch:10");
		for (unsigned i = 0; i < 10; i++)
			CHECK_U64(steps->tracks[0].steps[i].start_ns, 1000 + i * 1060 - 2);
		CHECK_U64(steps->tracks[0].steps[8].end_ns, 1000 + 9 * 1060 - 2);
		CHECK_U64(steps->tracks[0].steps[9].end_ns, 1000 + 10 * 1060 - 100);
		CHECK_U64(view_step_work(steps->tracks, &steps->tracks[0].steps[9])->kernel_count,
			  5);
		check_limits(&lines, steps, (struct steps_limits){.launches = 35}, 1, 0);
	}
	text_free(&lines.text);
}

TEST(a_step_ends_where_a_call_around_several_begins_or_ends)
{
	struct lines lines = {.now_ns = 1000};

	/* Epochs of four steps, whose first begins with its copy, before its graph; the third does not end. */
	for (unsigned epoch = 0; epoch < 3; epoch++) {
		unsigned long long from = lines.now_ns;

		for (unsigned i = 0; i < 4; i++)
			work(&lines, 1, 7);
		if (epoch < 2)
			span(&lines, "call", "epoch", 1, from, lines.now_ns - 300);
		else
			text_appendf(&lines.text,
				     "{\"kind\":\"call\",\"pid\":1,\"tid\":1,\"name\":\"epoch\","
				     "\"ts\":%llu}\n",
				     from);
	}
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&lines.text));
		const struct view_steps *steps = steps_of(&fixture, NULL);

		check_tracks(steps, "1:graph launch:12");
		for (unsigned i = 0; i < 11; i++) {
			const struct view_step *step = &steps->tracks[0].steps[i];

			CHECK_U64(step->start_ns, 1000 + i * 1060);
			CHECK_U64(step->end_ns, 1000 + (i + 1) * 1060 - (i % 4 == 3 ? 300 : 0));
		}
		CHECK_U64(steps->tracks[0].steps[11].end_ns, 1000 + 11 * 1060 + 55);
	}
	text_free(&lines.text);
}

TEST(optimizer_calls_and_kernels)
{
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0; i < 10; i++)
		work(&lines, 1, 0);
	/* "first" comes behind the pause and the copy, "last" behind a kernel: all the same here. */
	check_lines(&lines, NULL, "1:kernel launch:10");
	text_free(&lines.text);
	lines = (struct lines){.now_ns = 1000};
	for (unsigned i = 0; i < 10; i++) {
		work(&lines, 1, 0);
		span(&lines, "call", "torch::optim::Adam::step(int)", 1, lines.now_ns - 900,
		     lines.now_ns - 800);
	}
	check_lines(&lines, NULL, "1:optimizer call:9");
	text_free(&lines.text);
}

TEST(optimizers_whose_ranges_have_numbers)
{
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0; i < 10; i++) {
		char name[64];

		snprintf(name, sizeof(name), "Optimizer.step#SGD.step, op_id = %u", 100 + i);
		work(&lines, 1, 0);
		span(&lines, "range", name, 1, lines.now_ns - 900, lines.now_ns - 800);
	}
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&lines.text));
		const struct view_steps *steps = steps_of(&fixture, NULL);

		check_tracks(steps, "1:optimizer call:9");
		CHECK_STRING(steps->tracks[0].steps[0].name, "Optimizer.step#SGD.step, op_id = #");
		check_limits(&lines, steps,
			     (struct steps_limits){.launches = 35, .calls = 9, .spans = 9}, 0, 0);
	}
	text_free(&lines.text);
}

TEST(a_thread_beside_those_that_launch_most)
{
	struct lines lines = {.now_ns = 1000};

	/* Thread 4 has a range around all of its few launches, thread 5 one named like a step around none. */
	for (unsigned i = 0; i < 10; i++) {
		unsigned long long from;

		work(&lines, 1, 7);
		from = lines.now_ns;
		kernel(&lines, "reduce", 4, 0);
		span(&lines, "range", "allReduce", 4, from, lines.now_ns);
		span(&lines, "range", "batch 3", 5, from, lines.now_ns);
	}
	check_lines(&lines, NULL, "1:graph launch:10");
	text_free(&lines.text);
	/* The main thread is another matter: others may launch for it. */
	lines = (struct lines){.now_ns = 1000};
	for (unsigned i = 0; i < 10; i++) {
		unsigned long long from = lines.now_ns;

		work(&lines, 2, 0);
		span(&lines, "range", "train step", 1, from, lines.now_ns);
	}
	check_lines(&lines, NULL, "1:NVTX range:10");
	text_free(&lines.text);
}

TEST(a_function_named_like_a_step)
{
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0; i < 10; i++) {
		unsigned long long from = lines.now_ns;

		work(&lines, 1, 7);
		span(&lines, "call", "Trainer::train_step(int)", 1, from, lines.now_ns - 100);
	}
	check_lines(&lines, NULL, "1:function:10");
	text_free(&lines.text);
}

TEST(what_is_not_periodic_has_no_steps)
{
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0, random = 1; i < 400; i++) {
		char name[16];

		random = random * 1103515245 + 12345;
		snprintf(name, sizeof(name), "k%u", (random >> 16) % 67);
		kernel(&lines, name, 1, 0);
		if ((random >> 8) % 11 == 3)
			copy(&lines, 1);
	}
	check_lines(&lines, NULL, "");
	text_free(&lines.text);
}

TEST(the_name_by_hand)
{
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0; i < 4; i++) {
		unsigned long long from = lines.now_ns;

		work(&lines, 1, 7);
		span(&lines, "range", "step", 1, from, lines.now_ns - 700);
		span(&lines, "range", "mine", 1, from + 1, lines.now_ns - 800);
	}
	check_lines(&lines, NULL, "1:NVTX range:4");
	check_lines(&lines, "mi*", "1:--step-name:4");
	check_lines(&lines, "cudaGraphLaunch*", "1:--step-name:3");
	check_lines(&lines, "nothing", "");
	/* What a recording was told holds, until something else is said. */
	text_append(&lines.text, "{\"kind\":\"attribute\",\"name\":\"step-name\",\"group\":"
				 "\"option\",\"value\":\"cudaGraph*\",\"ts\":1}\n");
	check_lines(&lines, NULL, "1:--step-name:3");
	check_lines(&lines, "mine", "1:--step-name:4");
	text_free(&lines.text);
}

TEST(threads_of_their_own_and_threads_that_help)
{
	struct lines lines = {.now_ns = 1000};

	/* Thread 2 has a loop of its own, thread 3 launches for whoever. */
	for (unsigned i = 0; i < 10; i++) {
		work(&lines, 1, 7);
		kernel(&lines, "gradient", 3, 0);
		kernel(&lines, "gradients", 3, 0);
		work(&lines, 2, 8);
		work(&lines, 2, 8);
	}
	check_lines(&lines, NULL, "2:graph launch:20 1:graph launch:10");
	text_free(&lines.text);
	lines = (struct lines){.now_ns = 1000};
	for (unsigned i = 0; i < 10; i++) {
		work(&lines, 1, 7);
		kernel(&lines, "gradient", 3, 0);
		kernel(&lines, "gradients", 3, 0);
	}
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&lines.text));
		const struct view_steps *steps = steps_of(&fixture, NULL);

		check_tracks(steps, "1:graph launch:10");
		/* Those of the other thread fall into them. */
		CHECK_U64(view_step_work(steps->tracks, &steps->tracks[0].steps[4])->kernel_count,
			  7);
	}
	text_free(&lines.text);
}

struct asking {
	const struct view *view;
	const struct view_steps *steps;
	unsigned kernels;
};

static int open_in_run(void *data, const struct view *view, const struct view_survey *survey,
		       struct err *err)
{
	struct asking *asking = data;

	asking->view = view;
	return view_steps(view, &asking->steps, err);
}

static int count_span(void *data, const struct view_event *event, struct err *err)
{
	struct asking *asking = data;
	const struct view_step *step = view_steps_span(asking->steps, event);

	CHECK((step != NULL) == (strcmp(event->name, "step") == 0));
	if (event->kind->number != KIND_kernel)
		return 0;
	asking->kernels++;
	/* What the passes for the steps have left behind is not seen in this one. */
	CHECK_STRING(view_path(asking->view, event->cause->path)->name, "step");
	CHECK_U64(view_path(asking->view, event->cause->path)->parent, 0);
	return 0;
}

TEST(a_sink_asks_when_it_opens)
{
	const struct view_sink sink = {.open = open_in_run, .span = count_span};
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0; i < 4; i++) {
		unsigned long long from = lines.now_ns;

		work(&lines, 1, 7);
		span(&lines, "range", "step", 1, from, lines.now_ns - 700);
	}
	/* One that is open when the passes end. */
	span(&lines, "range", "end", 1, lines.now_ns, lines.now_ns + 10000);
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&lines.text));
		struct asking asking = {0};
		struct err err = {0};

		CHECK_OK(view_run(fixture.view, &sink, &asking, &err), err);
		check_tracks(asking.steps, "1:NVTX range:4");
		CHECK_U64(asking.kernels, 4 * 5);
	}
	text_free(&lines.text);
}

static int times_in_run(void *data, const struct view *view, const struct view_survey *survey,
			struct err *err)
{
	struct asking *asking = data;
	int result = view_steps_times(view, &asking->steps, err);

	asking->view = view;
	view_steps_work_begin(view);
	return result;
}

/* Fails in the first run, in the middle. */
static int add_work(void *data, const struct view_event *event, struct err *err)
{
	struct asking *asking = data;

	if (asking->kernels && event->kind->number == KIND_kernel && !--asking->kernels)
		return err_set(err, -EINTR, "interrupted");
	return view_steps_work_add(asking->view, event, err);
}

static int end_work(void *data, struct err *err)
{
	view_steps_work_end(((struct asking *)data)->view);
	return 0;
}

TEST(a_sink_adds_the_work_itself)
{
	const struct view_sink sink = {.open = times_in_run, .span = add_work, .close = end_work};
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0; i < 10; i++)
		work(&lines, 1, 7);
	{
		struct fixture fixture _fixture_ = fixture_open(text_string(&lines.text));
		struct asking asking = {.kernels = 17};
		struct err err = {0};

		CHECK(view_run(fixture.view, &sink, &asking, &err) == -EINTR);
		for (unsigned again = 0; again < 2; again++)
			CHECK_OK(view_run(fixture.view, &sink, &asking, &err), err);
		CHECK(steps_of(&fixture, NULL) == asking.steps);
		for (unsigned i = 0; i < 9; i++) {
			const struct view_step_track *track = asking.steps->tracks;
			const struct view_step_work *work = view_step_work(track, &track->steps[i]);

			CHECK_U64(work->kernel_count, 5);
			CHECK_U64(work->device_count, 1);
		}
	}
	text_free(&lines.text);
}

static void check_left_out(const struct lines *lines, const char *glob, const char *expected,
			   u64 left_out)
{
	struct fixture fixture _fixture_ = fixture_open(text_string(&lines->text));
	const struct view_steps *steps;

	steps_state(fixture.view)->limits.steps = 4;
	steps = steps_of(&fixture, glob);
	check_tracks(steps, expected);
	CHECK_U64(steps->left_out, left_out);
	CHECK_U64(steps->tracks[0].steps[3].number, 3);
}

TEST(more_steps_than_there_are_places_for)
{
	struct lines lines = {.now_ns = 1000};

	for (unsigned i = 0; i < 10; i++) {
		unsigned long long from = lines.now_ns;

		work(&lines, 1, 7);
		span(&lines, "call", "do_it", 1, from, lines.now_ns - 700);
	}
	check_left_out(&lines, NULL, "1:graph launch:4", 6);
	check_left_out(&lines, "do_it", "1:--step-name:4", 6);
	check_left_out(&lines, "cudaGraphLaunch", "1:--step-name:4", 5);
	text_free(&lines.text);
}

TEST(without_anything)
{
	struct fixture fixture _fixture_ = fixture_open("");
	const struct view_steps *steps = steps_of(&fixture, NULL);

	CHECK_U64(steps->count, 0);
	CHECK_U64(steps->track_count, 0);
}

UNIT_MAIN()
