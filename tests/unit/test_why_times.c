/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When GPUs were idle and why: of every capture that is a fixture the times add up to the causes of the report, and cover what is idle once. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/array.h"
#include "base/stop.h"
#include "base/text.h"
#include "capture_fixture.h"
#include "golden_views.h"
#include "why/why_times.h"

/* Sums by what has to be the same: code is told of by samples, each in its own way, and how much of what may be a wait is code by the causes alone. */
struct sum {
	u32 gpu;
	enum why_sort sort;
	const char *what;
	size_t row_index, waiter;
	u64 ns;
};

struct sums {
	struct sum *items;
	size_t count, capacity;
};

static void sums_add(struct sums *sums, struct sum wanted)
{
	bool is_code = wanted.sort == WHY_CODE || wanted.sort == WHY_UNSAMPLED ||
		       wanted.sort == WHY_CODE_OR_WAIT;

	if (is_code) {
		wanted.sort = WHY_CODE;
		wanted.what = "";
	}
	for (size_t i = 0; i < sums->count; i++) {
		struct sum *sum = &sums->items[i];

		if (sum->gpu == wanted.gpu && sum->sort == wanted.sort &&
		    sum->row_index == wanted.row_index && sum->waiter == wanted.waiter &&
		    strcmp(sum->what, wanted.what) == 0) {
			sum->ns += wanted.ns;
			return;
		}
	}
	CHECK(array_reserve(&sums->items, &sums->capacity, sums->count + 1) == 0);
	sums->items[sums->count++] = wanted;
}

static u64 sums_of(const struct sums *sums, const struct sum *wanted)
{
	for (size_t i = 0; i < sums->count; i++) {
		const struct sum *sum = &sums->items[i];

		if (sum->gpu == wanted->gpu && sum->sort == wanted->sort &&
		    sum->row_index == wanted->row_index && sum->waiter == wanted->waiter &&
		    strcmp(sum->what, wanted->what) == 0)
			return sum->ns;
	}
	return 0;
}

static void check_sums(const char *path, const struct sums *sums, const struct sums *expected)
{
	for (size_t i = 0; i < expected->count; i++) {
		const struct sum *sum = &expected->items[i];
		u64 ns = sums_of(sums, sum);

		if (ns != sum->ns)
			UNIT_FAIL("%s: \"%s: %s\" for %llu ns, its times are %llu", path,
				  why_words(sum->sort), sum->what, (unsigned long long)sum->ns,
				  (unsigned long long)ns);
	}
	CHECK(sums->count == expected->count);
}

/* Of a limit on gaps, each by what its GPU was idle at a stretch: which times are to be left. */
static void check_gaps(const char *path, const struct why_times *times, const struct why_time *all,
		       size_t count, u64 least_gap_ns)
{
	struct why_times_reader reader = {0};
	struct err err = {0};
	size_t left = 0;

	CHECK_OK(why_times_read(&reader, times, least_gap_ns, &err), err);
	for (size_t i = 0; i < count; i++) {
		u64 since_ns = all[i].since_ns, until_ns = all[i].until_ns;
		struct why_time time;

		for (size_t before = i; before--;)
			if (all[before].gpu == all[i].gpu && all[before].until_ns == since_ns)
				since_ns = all[before].since_ns;
		for (size_t behind = i + 1; behind < count; behind++)
			if (all[behind].gpu == all[i].gpu && all[behind].since_ns == until_ns)
				until_ns = all[behind].until_ns;
		if (until_ns - since_ns < least_gap_ns)
			continue;
		left++;
		CHECK(why_times_next_ns(&reader) == all[i].since_ns);
		CHECK_OK(why_times_next(&reader, &time, &err), err);
		if (memcmp(&time, &all[i], sizeof(time)))
			UNIT_FAIL("%s: gaps from %llu ns on: %s at %llu", path,
				  (unsigned long long)least_gap_ns, why_words(time.sort),
				  (unsigned long long)time.since_ns);
	}
	CHECK(why_times_next_ns(&reader) == ~0ULL);
	CHECK(least_gap_ns || left == count);
	why_times_reader_free(&reader);
}

/* The number of times. */
static size_t read_times(const char *path, const struct why_times *times, struct sums *sums)
{
	static const u64 least_gaps_ns[] = {0, 2000, 100000, 3000000, ~0ULL};
	u64 ends_ns[16] = {0}, all_ns[16] = {0}, last_ns = 0;
	struct why_times_reader reader = {0};
	const struct why_gpu *gpus;
	size_t gpu_count, count = 0, capacity = 0;
	struct why_time *all = NULL;
	struct err err = {0};

	gpus = why_times_gpus(times, &gpu_count);
	CHECK(gpu_count <= ARRAY_SIZE(ends_ns));
	CHECK_OK(why_times_read(&reader, times, 0, &err), err);
	for (u64 next_ns; (next_ns = why_times_next_ns(&reader)) != ~0ULL; count++) {
		struct why_time time;

		CHECK_OK(why_times_next(&reader, &time, &err), err);
		CHECK(array_reserve(&all, &capacity, count + 1) == 0);
		all[count] = time;
		CHECK(time.since_ns == next_ns);
		CHECK(time.since_ns >= last_ns && time.until_ns > time.since_ns);
		if (time.since_ns < ends_ns[time.gpu])
			UNIT_FAIL("%s: two times of one GPU at %llu", path,
				  (unsigned long long)time.since_ns);
		last_ns = time.since_ns;
		ends_ns[time.gpu] = time.until_ns;
		all_ns[time.gpu] += time.until_ns - time.since_ns;
		sums_add(sums, (struct sum){time.gpu, time.sort, time.what, time.row_index,
					    time.waiter, time.until_ns - time.since_ns});
	}
	for (size_t i = 0; i < gpu_count; i++)
		CHECK(all_ns[i] == gpus[i].recorded_ns - gpus[i].busy_ns);
	why_times_reader_free(&reader);
	for (size_t i = 0; i < ARRAY_SIZE(least_gaps_ns); i++)
		check_gaps(path, times, all, count, least_gaps_ns[i]);
	free(all);
	return count;
}

struct counted {
	u64 runs, spans;
};

static int count_run(void *data, const struct view *view, const struct view_survey *survey,
		     struct err *err)
{
	((struct counted *)data)->runs++;
	return 0;
}

static int count_span(void *data, const struct view_event *event, struct err *err)
{
	((struct counted *)data)->spans++;
	return 0;
}

/* Others see all of one run, whether the times are found in it or are there. */
static void check_beside(struct view *view)
{
	static const struct view_sink sink = {.open = count_run, .span = count_span};
	struct counted counted = {0};
	const struct view_part part = {&sink, &counted};
	u64 spans = view_survey(view)->span_count;
	struct err err = {0};

	CHECK_OK(why_times_beside(view, &part, 1, &err), err);
	CHECK(counted.runs == 1 && counted.spans == spans);
	CHECK_OK(why_times_beside(view, &part, 1, &err), err);
	CHECK(counted.runs == 2 && counted.spans == 2 * spans);
}

/* The number of times of a view. */
static size_t check_view(struct view *view, const char *path)
{
	struct sums sums = {0}, expected = {0};
	const struct why_times *times, *again;
	struct err err = {0};
	struct why why;
	size_t count;

	CHECK_OK(why_make(view, NULL, &why, &err), err);
	for (size_t i = 0; i < why.count; i++)
		sums_add(&expected, (struct sum){why.causes[i].gpu, why.causes[i].sort,
						 why.causes[i].what, why.causes[i].row_index,
						 why.causes[i].waiter, why.causes[i].ns});
	CHECK(!why_times_missing(view));
	check_beside(view);
	CHECK_OK(why_times(view, &times, &err), err);
	CHECK_OK(why_times(view, &again, &err), err);
	CHECK(times == again && !why_times_missing(view));
	count = read_times(path, times, &sums);
	check_sums(path, &sums, &expected);
	free(sums.items);
	free(expected.items);
	why_free(&why);
	return count;
}

TEST(they_add_up_to_the_causes)
{
	CHECK(golden_views_check_all(check_view) > 500);
}

/* A thread that runs code for 10 ms before it launches, sampled all the time. */
#define SAMPLED                                                                                   \
	"{\"kind\":\"window\",\"source\":1,\"ts\":1000000,\"dur\":20000000}\n"                    \
	"{\"kind\":\"device\",\"source\":2,\"pid\":7,\"id\":\"GPU\",\"number\":0}\n"              \
	"{\"kind\":\"stream\",\"source\":2,\"pid\":7,\"id\":\"s\",\"device\":\"GPU\",\"number\":" \
	"7}\n"                                                                                    \
	"{\"kind\":\"api\",\"source\":2,\"ts\":1100000,\"dur\":10000,\"pid\":7,\"tid\":7,"        \
	"\"name\":"                                                                               \
	"\"cudaLaunchKernel\",\"correlation\":1}\n"                                               \
	"{\"kind\":\"kernel\",\"source\":2,\"ts\":1200000,\"dur\":100000,\"pid\":7,\"name\":"     \
	"\"a\","                                                                                  \
	"\"correlation\":1,\"device\":\"GPU\",\"stream\":\"s\"}\n"                                \
	"{\"kind\":\"off_cpu\",\"source\":1,\"ts\":1310000,\"dur\":10000,\"pid\":7,\"tid\":7,"    \
	"\"name\":"                                                                               \
	"\"futex\"}\n"                                                                            \
	"{\"kind\":\"api\",\"source\":2,\"ts\":11300000,\"dur\":10000,\"pid\":7,\"tid\":7,"       \
	"\"name\":"                                                                               \
	"\"cudaLaunchKernel\",\"correlation\":2}\n"                                               \
	"{\"kind\":\"kernel\",\"source\":2,\"ts\":11400000,\"dur\":100000,\"pid\":7,\"name\":"    \
	"\"a\","                                                                                  \
	"\"correlation\":2,\"device\":\"GPU\",\"stream\":\"s\"}\n"
#define SAMPLE                                                                                \
	"{\"kind\":\"sample\",\"source\":1,\"ts\":%u,\"pid\":7,\"tid\":7,\"stack\":[\"%s\"]," \
	"\"stack_end\":\"complete\"}\n"
#define END                                                                                     \
	"{\"kind\":\"recording_end\",\"source\":1,\"ts\":%u,\"pid\":7,\"sort\":\"%s\",\"why\":" \
	"\"budget\"}\n"

TEST(they_do_so_where_the_recording_of_waits_or_calls_ends_among_samples)
{
	static const char *const sorts[] = {"waits", "cuda_calls", "gpu"};

	for (size_t sort = 0; sort < ARRAY_SIZE(sorts); sort++) {
		for (unsigned ns = 1250000; ns < 12000000; ns += 333333) {
			struct text text = {0};

			text_append(&text, SAMPLED);
			for (unsigned i = 0; i < 12; i++)
				text_appendf(&text, SAMPLE, 1400000 + i * 800000,
					     i % 3 ? "0x401000" : "0x402000");
			text_appendf(&text, END, ns, sorts[sort]);
			struct fixture _fixture_ fixture = fixture_open(text_string(&text));

			CHECK(check_view(fixture.view, sorts[sort]) > 0);
			text_free(&text);
		}
	}
}

static int stop_here(void *data, struct err *err)
{
	stop_install();
	return raise(SIGINT);
}

/* The last test, since nothing takes the flag back. It comes behind the events, while what threads did is asked for. */
TEST(an_interruption_while_they_are_made_ends_those_beside_them)
{
	static const struct view_sink sink = {.close = stop_here};
	struct fixture _fixture_ fixture = fixture_open(SAMPLED);
	const struct view_part part = {&sink, NULL};
	struct err err = {0};

	CHECK(why_times_beside(fixture.view, &part, 1, &err) == -EINTR);
	CHECK_STRING(err.message, "interrupted");
	/* It is nothing that is missing in an output. */
	CHECK(!why_times_missing(fixture.view));
}

UNIT_MAIN()
