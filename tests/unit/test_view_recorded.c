/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Up to when what was recorded, where that is not the end of the window. */
#include "base/text.h"
#include "capture_fixture.h"
#include "view/view.h"

#define WINDOW		   "{\"kind\":\"window\",\"ts\":1000,\"dur\":9000}\n"
#define END(at, pid, more) "{\"kind\":\"recording_end\",\"ts\":" #at ",\"pid\":" #pid "," more "}\n"
#define TAKEN(complete)	   "\"sort\":\"gpu\",\"why\":\"taken_over\",\"complete\":" #complete
#define BUDGET		   "\"sort\":\"gpu\",\"why\":\"budget\""
#define GPU(source, pid, id)                                                        \
	"{\"kind\":\"device\",\"source\":" #source ",\"pid\":" #pid ",\"id\":\"" id \
	"\",\"number\":0,\"uuid\":\"000102030405060708090a0b0c0d0e0f\"}\n"
#define KERNEL(source, pid, id, at, time)                                               \
	"{\"kind\":\"kernel\",\"source\":" #source ",\"pid\":" #pid ",\"device\":\"" id \
	"\",\"name\":\"k\",\"ts\":" #at ",\"dur\":" #time "}\n"

#define CALL(pid, at, time)                                             \
	"{\"kind\":\"api\",\"source\":3,\"pid\":" #pid ",\"tid\":" #pid \
	",\"name\":\"cudaLaunchKernel\",\"ts\":" #at ",\"dur\":" #time "}\n"

static u64 gpu_until(const struct fixture *fixture, u32 pid)
{
	return view_recorded_until(fixture->view, VALUE_recorded_sort_gpu, pid);
}

TEST(without_an_end_it_is_the_window)
{
	struct fixture fixture _fixture_ =
		fixture_open(WINDOW GPU(3, 7, "g") KERNEL(3, 7, "g", 2000, 100));

	CHECK_U64(gpu_until(&fixture, 7), 10000);
	CHECK_U64(view_recorded_until_by_any(fixture.view, VALUE_recorded_sort_gpu), 10000);
}

/* Up to when all was handed over, or to the end of the last piece of work, but not behind the moment itself. */
TEST(what_was_not_handed_over_is_not_known)
{
	struct fixture fixture _fixture_ = fixture_open(
		WINDOW GPU(3, 7, "g") GPU(4, 8, "h") GPU(5, 9, "i") END(5000, 7, TAKEN(3000))
			END(5000, 8, TAKEN(3000)) END(5000, 9, TAKEN(3000))
				KERNEL(3, 7, "g", 2000, 100) KERNEL(4, 8, "h", 3900, 100)
					KERNEL(5, 9, "i", 4900, 300));

	CHECK_U64(gpu_until(&fixture, 7), 3000);
	CHECK_U64(gpu_until(&fixture, 8), 4000);
	CHECK_U64(gpu_until(&fixture, 9), 5000);
	CHECK_U64(view_recorded_until(fixture.view, VALUE_recorded_sort_cuda_calls, 7), 10000);
}

/* A call that was handed over says nothing of kernels, which come in other buffers. */
TEST(what_ended_together_is_known_up_to_moments_of_its_own)
{
	struct fixture fixture _fixture_ =
		fixture_open(WINDOW GPU(3, 7, "g") END(5000, 7, TAKEN(3000)) END(
			5000, 7, "\"sort\":\"cuda_calls\",\"why\":\"taken_over\",\"complete\":3000")
				     KERNEL(3, 7, "g", 3900, 100) CALL(7, 4900, 50));

	CHECK_U64(gpu_until(&fixture, 7), 4000);
	CHECK_U64(view_recorded_until(fixture.view, VALUE_recorded_sort_cuda_calls, 7), 4950);
}

/* A capture has them many times; and for two reasons. */
TEST(the_first_end_counts_and_one_behind_the_window_is_none)
{
	struct fixture fixture _fixture_ =
		fixture_open(WINDOW GPU(3, 7, "g") END(5000, 7, BUDGET) END(6000, 7, BUDGET)
				     END(4000, 7, TAKEN(4000)) END(7000, 7, BUDGET)
					     END(10000, 8, BUDGET) KERNEL(3, 7, "g", 2000, 100));
	size_t count;

	CHECK_U64(gpu_until(&fixture, 7), 4000);
	CHECK_U64(gpu_until(&fixture, 8), 10000);
	view_recording_ends(fixture.view, &count);
	CHECK_U64(count, 1);
}

TEST(an_end_of_all_is_everybodys)
{
	struct fixture fixture _fixture_ = fixture_open(WINDOW GPU(3, 7, "g") END(5000, 0, BUDGET)
								KERNEL(3, 7, "g", 2000, 100));

	CHECK_U64(gpu_until(&fixture, 7), 5000);
	CHECK_U64(view_recorded_until_by_any(fixture.view, VALUE_recorded_sort_gpu), 5000);
}

/* Of a GPU of several processes the time is known in which all of them were recorded; one that gave it no work counts not. */
TEST(a_gpu_is_known_as_long_as_all_its_processes_are)
{
	struct fixture fixture _fixture_ = fixture_open(WINDOW GPU(3, 7, "g") GPU(4, 8, "h") GPU(
		5, 9, "i") END(5000, 8, BUDGET) END(2000, 9, BUDGET) KERNEL(3, 7, "g", 2000, 100)
								KERNEL(4, 8, "h", 2000, 100));
	const struct view_survey *survey = view_survey(fixture.view);
	size_t streams = 0;

	for (size_t i = 0; i < survey->row_count; i++) {
		if (survey->rows[i].type != ROW_STREAM)
			continue;
		CHECK_U64(view_gpu_recorded_until(fixture.view, survey->rows[i].device), 5000);
		streams++;
	}
	CHECK_U64(streams, 2);
	CHECK_U64(view_recorded_until_by_any(fixture.view, VALUE_recorded_sort_gpu), 10000);
}

static int count_span(void *data, const struct view_event *event, struct err *err)
{
	(*(size_t *)data)++;
	return 0;
}

/* What another tool has recorded: tests/captures has captures of before. */
TEST(calls_that_a_profiler_causes_are_kept_of_who_records_them)
{
	struct fixture fixture _fixture_ =
		fixture_open(WINDOW "{\"kind\":\"api\",\"source\":3,\"pid\":7,\"tid\":7,\"name\":"
				    "\"cuKernelGetName\",\"ts\":2000,\"dur\":5}\n");
	const struct view_sink sink = {.span = count_span};
	struct err err = {0};
	size_t count = 0;

	CHECK_OK(view_run(fixture.view, &sink, &count, &err), err);
	CHECK_U64(count, 1);
	CHECK_U64(view_survey(fixture.view)->loss_count, 0);
}

UNIT_MAIN()
