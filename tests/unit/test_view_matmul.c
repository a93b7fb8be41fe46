/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"
#include "capture_fixture.h"
#include "view/view_parts.h"

#define CALL(function, tid, ts, dur)                                         \
	"{\"kind\":\"call\",\"pid\":1,\"tid\":" #tid ",\"name\":\"" function \
	"\",\"probe\":\"" function "\",\"ts\":" #ts ",\"dur\":" #dur "}\n"
#define PROBE(function) "{\"kind\":\"probe\",\"name\":\"" function "\",\"id\":\"" function "\"}\n"
#define MATMUL_TYPED(function, tid, ts, m, n, k, batch, type)                                      \
	"{\"kind\":\"matmul\",\"pid\":1,\"tid\":" #tid ",\"name\":\"" function                     \
	"\",\"probe\":\"" function "\",\"ts\":" #ts ",\"m\":" #m ",\"n\":" #n ",\"k\":" #k         \
	",\"batch\":" #batch ",\"type_a\":\"" type "\",\"type_b\":\"" type "\",\"type_c\":\"" type \
	"\"}\n"
#define MATMUL(function, tid, ts, m, n, k, batch) \
	MATMUL_TYPED(function, tid, ts, m, n, k, batch, "f32")
#define API(correlation, tid, ts)                   \
	"{\"kind\":\"api\",\"pid\":1,\"tid\":" #tid \
	",\"name\":\"launch\",\"correlation\":" #correlation ",\"ts\":" #ts ",\"dur\":1}\n"
#define WORK(kind, correlation, ts, dur)                                                \
	"{\"kind\":\"" kind "\",\"pid\":1,\"name\":\"k\",\"correlation\":" #correlation \
	",\"ts\":" #ts ",\"dur\":" #dur ",\"device\":\"gpu\",\"stream\":\"s\"}\n"
#define KERNEL(correlation, ts) WORK("kernel", correlation, ts, 1)

static int append_work(void *data, const struct view_event *event, struct err *err)
{
	const struct view_matmul *matmul = event->cause ? event->cause->matmul : NULL;
	struct text *text = data;

	if (event->kind->row != ROW_STREAM)
		return 0;
	text_append(text, text->length ? " " : "");
	if (matmul)
		text_appendf(text, "%llux%llux%llu*%llu=%llu", (unsigned long long)matmul->m,
			     (unsigned long long)matmul->n, (unsigned long long)matmul->k,
			     (unsigned long long)matmul->batch,
			     (unsigned long long)view_matmul_flops(matmul));
	else
		text_append(text, "-");
	return 0;
}

static void check_sink(struct view *view, const struct view_sink *sink, const char *expected)
{
	struct err err = {0};

	/* A second run gives the same. */
	for (int run = 0; run < 2; run++) {
		struct text text _cleanup_text_ = {0};

		CHECK_OK(view_run(view, sink, &text, &err), err);
		CHECK_STRING(text_string(&text), expected);
	}
}

static void check_work(struct view *view, const char *expected)
{
	check_sink(view, &(struct view_sink){.span = append_work}, expected);
}

TEST(one_kernel_of_a_call_has_its_sizes)
{
	struct fixture fixture _fixture_ =
		fixture_open(PROBE("gemm") CALL("gemm", 1, 10, 10) MATMUL("gemm", 1, 10, 2, 3, 5, 7)
				     API(1, 1, 11) API(2, 1, 12) API(3, 1, 13) API(4, 1, 20)
					     WORK("set", 1, 30, 1) KERNEL(2, 31) KERNEL(2, 32)
						     KERNEL(3, 33) KERNEL(4, 34));

	check_work(fixture.view, "- 2x3x5*7=420 - - -");
}

#define ENTRY(function, tid, ts)                                              \
	"{\"kind\":\"entry\",\"pid\":1,\"tid\":" #tid ",\"name\":\"" function \
	"\",\"probe\":\"" function "\",\"ts\":" #ts "}\n"
#define NAMED(name, correlation, ts)                                                         \
	"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"" name "\",\"correlation\":" #correlation \
	",\"ts\":" #ts ",\"dur\":1,\"device\":\"gpu\",\"stream\":\"s\"}\n"

/* Its end was not seen: what multiplies, up to the next call. */
TEST(of_an_entry_the_first_kernel_that_multiplies_has_the_sizes)
{
	struct fixture fixture _fixture_ = fixture_open(
		PROBE("gemm") PROBE("other") ENTRY("gemm", 1, 10) MATMUL("gemm", 1, 10, 2, 3, 5,
									 7) API(1, 1, 11)
			API(2, 1, 12) API(3, 1, 13) API(9, 2, 13) ENTRY("other", 1, 14) API(
				4, 1, 15) ENTRY("gemm", 1, 20) MATMUL("gemm", 1, 20, 1, 1, 1, 1)
				ENTRY("other", 1, 21) API(5, 1, 22) NAMED("ampere_sgemm_64", 9, 25)
					NAMED("fill", 1, 30) NAMED("ampere_sgemm_128x64_tn", 2, 31)
						NAMED("ampere_sgemm_128x64_tn", 3,
						      32) NAMED("ampere_sgemm_128x64_tn", 4, 33)
							NAMED("ampere_sgemm_128x64_tn", 5, 34));

	check_work(fixture.view, "- - 2x3x5*7=420 - - -");
}

TEST(calls_of_threads_do_not_mix)
{
	struct fixture fixture _fixture_ = fixture_open(
		PROBE("gemm") CALL("gemm", 1, 10, 100) MATMUL("gemm", 1, 10, 1, 1, 1, 1)
			CALL("gemm", 2, 11, 100) MATMUL("gemm", 2, 11, 2, 2, 2, 1) API(1, 2, 20)
				API(2, 1, 21) API(3, 3, 22) KERNEL(1, 30) KERNEL(2, 31)
					KERNEL(3, 32));

	check_work(fixture.view, "2x2x2*1=16 1x1x1*1=2 -");
}

TEST(the_outermost_call_with_known_sizes_counts)
{
	struct fixture fixture _fixture_ = fixture_open(
		PROBE("outer") PROBE("inner") CALL("outer", 1, 10, 10)
			MATMUL("outer", 1, 10, 2, 2, 2, 4) CALL("inner", 1, 11, 5)
				MATMUL("inner", 1, 11, 2, 2, 2, 1) API(1, 1, 12) KERNEL(1, 15)
					CALL("outer", 1, 30, 10) MATMUL("outer", 1, 30, 2, 0, 2, 4)
						CALL("inner", 1, 31, 5)
							MATMUL("inner", 1, 31, 2, 2, 2, 1)
								API(2, 1, 32) KERNEL(2, 35));

	check_work(fixture.view, "2x2x2*4=64 2x2x2*1=16");
}

TEST(sizes_of_another_call_are_not_taken)
{
	struct fixture fixture _fixture_ = fixture_open(
		PROBE("gemm") PROBE("other") MATMUL("gemm", 1, 9, 2, 2, 2, 1) CALL("gemm", 1, 10, 5)
			API(1, 1, 11) KERNEL(1, 12) CALL("other", 1, 20, 5)
				MATMUL("gemm", 1, 20, 2, 2, 2, 1) API(2, 1, 21) KERNEL(2, 22));

	check_work(fixture.view, "- -");
}

TEST(what_no_gpu_can_have_done_is_unknown)
{
	struct fixture fixture _fixture_ = fixture_open(
		PROBE("gemm") CALL("gemm", 1, 10, 5) MATMUL("gemm", 1, 10, 2147483647, 2147483647,
							    1, 1) API(1, 1, 11) KERNEL(1, 12)
			CALL("gemm", 1, 20, 5) MATMUL("gemm", 1, 20, 16777216, 16777216, 16777216,
						      1) API(2, 1, 21) KERNEL(2, 22)
				CALL("gemm", 1, 30, 5) MATMUL("gemm", 1, 30, 65536, 65536, 65536, 1)
					API(3, 1, 31) KERNEL(3, 32));

	check_work(fixture.view, "- - 65536x65536x65536*1=562949953421312");
}

TEST(complex_numbers_take_four_times_as_many_operations)
{
	struct fixture fixture _fixture_ =
		fixture_open(PROBE("gemm") CALL("gemm", 1, 10, 5) MATMUL_TYPED(
			"gemm", 1, 10, 2, 3, 5, 1, "complex_f64") API(1, 1, 11) KERNEL(1, 12));

	check_work(fixture.view, "2x3x5*1=240");
}

/* Its end comes when others have begun and ended since. */
TEST(the_end_of_a_kernel_has_the_same_sizes)
{
	struct fixture fixture _fixture_ = fixture_open(
		PROBE("gemm") CALL("gemm", 1, 10, 5) MATMUL("gemm", 1, 10, 2, 2, 2, 1) API(1, 1, 11)
			WORK("kernel", 1, 12, 1000) KERNEL(1, 14) CALL("gemm", 1, 20, 5)
				MATMUL("gemm", 1, 20, 3, 3, 3, 1) API(2, 1, 21) KERNEL(2, 22));

	check_sink(fixture.view, &(struct view_sink){.end = append_work},
		   "- 3x3x3*1=54 2x2x2*1=16");
}

UNIT_MAIN()
