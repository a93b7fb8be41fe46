/* SPDX-License-Identifier: GPL-2.0-or-later */
/* More causes than are kept at hand: each has its own time, and comes again. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "capture_fixture.h"
#include "why/why.h"

#define NAMES	  300
#define ROUNDS	  3
#define STEP_NS	  100000ULL
#define START_NS  1000000ULL
#define BEFORE_NS 40000ULL /* what its thread runs before each launch */

static const char head[] =
	"{\"kind\":\"window\",\"source\":1,\"ts\":1000000,\"dur\":1000000000}\n"
	"{\"kind\":\"device\",\"source\":2,\"pid\":7,\"id\":\"GPU\",\"number\":0}\n"
	"{\"kind\":\"stream\",\"source\":2,\"pid\":7,\"id\":\"s\",\"device\":\"GPU\",\"number\":7}"
	"\n"
	"{\"kind\":\"off_cpu\",\"source\":1,\"ts\":1000000,\"dur\":1000,\"pid\":7,\"tid\":8,"
	"\"name\":\"futex\"}\n";

static void append_code(struct text *text, unsigned name)
{
	text_appendf(text,
		     "{\"kind\":\"frame\",\"source\":1,\"ts\":1000000,\"pid\":7,\"name\":\"f%u\","
		     "\"address\":\"%#x\",\"file\":\"/srv/f.py\",\"line\":1,\"function_line\":1,"
		     "\"level\":0,\"origin\":\"python\"}\n",
		     name, 0x400000 + 16 * name);
}

/* A sample of its own code, a launch by a call of its own name that takes 1,000 ns and its number, and the kernel. */
static void append_step(struct text *text, unsigned number)
{
	unsigned name = number % NAMES;
	unsigned long long ts = START_NS + number * STEP_NS, call_ns = 1000 + name;

	text_appendf(text,
		     "{\"kind\":\"sample\",\"source\":1,\"ts\":%llu,\"pid\":7,\"tid\":7,\"stack\":"
		     "[\"%#x\"],\"stack_end\":\"complete\"}\n",
		     ts + 20000, 0x400000 + 16 * name);
	text_appendf(text,
		     "{\"kind\":\"api\",\"source\":2,\"ts\":%llu,\"dur\":%llu,\"pid\":7,\"tid\":7,"
		     "\"name\":\"cudaLaunch%u\",\"correlation\":%u}\n",
		     ts + BEFORE_NS, call_ns, name, number + 1);
	text_appendf(
		text,
		"{\"kind\":\"kernel\",\"source\":2,\"ts\":%llu,\"dur\":%llu,\"pid\":7,\"name\":"
		"\"k\",\"correlation\":%u,\"device\":\"GPU\",\"stream\":\"s\"}\n",
		ts + BEFORE_NS + call_ns, STEP_NS - BEFORE_NS - call_ns, number + 1);
}

/* The first launch ends no gap that is told of: the GPU did nothing before. */
TEST(each_has_its_own_time)
{
	struct text text = {0};
	u64 code_ns = 0;
	size_t launches = 0, codes = 0;
	struct err err = {0};
	struct why why;

	text_append(&text, head);
	for (unsigned i = 0; i < NAMES; i++)
		append_code(&text, i);
	for (unsigned i = 0; i < ROUNDS * NAMES; i++)
		append_step(&text, i);
	struct fixture _fixture_ fixture = fixture_open(text_string(&text));

	CHECK_OK(why_make(fixture.view, NULL, &why, &err), err);
	for (size_t i = 0; i < why.count; i++) {
		const struct why_cause *cause = &why.causes[i];

		if (cause->sort == WHY_LAUNCH) {
			unsigned name = (unsigned)atoi(cause->what + strlen("cudaLaunch"));
			u64 times = ROUNDS - !name;

			CHECK_U64(cause->ns, times * (1000 + name));
			CHECK_U64(cause->gaps, times);
			launches++;
		} else if (cause->sort == WHY_CODE) {
			code_ns += cause->ns;
			CHECK(cause->gaps == ROUNDS || cause->gaps == ROUNDS - 1);
			codes++;
		}
	}
	CHECK_U64(launches, NAMES);
	CHECK_U64(codes, NAMES);
	CHECK_U64(code_ns, (ROUNDS * NAMES - 1) * BEFORE_NS);
	why_free(&why);
	text_free(&text);
}

UNIT_MAIN()
