/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>

#include "base/file.h"
#include "capture_fixture.h"
#include "exporters/exporter.h"
#include "steps/view_steps_parts.h"
#include "xplane.pb-c.h"

#define STEPS	8
#define STEP_NS 1000

typedef Tensorflow__Profiler__XSpace xspace;

static void step(struct text *text, unsigned tid, unsigned number)
{
	unsigned long long ts = 1000000 + (unsigned long long)number * STEP_NS;
	unsigned correlation = tid * 100 + number;

	text_appendf(
		text,
		"{\"kind\":\"range\",\"pid\":1,\"tid\":%u,\"name\":\"step "
		"%u\",\"ts\":%llu,\"dur\":900}\n"
		"{\"kind\":\"api\",\"pid\":1,\"tid\":%u,\"name\":\"cuLaunchKernel\",\"ts\":%llu,"
		"\"dur\":5,\"correlation\":%u}\n"
		"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"k\",\"correlation\":%u,\"ts\":%llu,"
		"\"dur\":50,\"device\":\"gpu\",\"stream\":\"s%u\"}\n",
		tid, number, ts, tid, ts + 10, correlation, correlation, ts + 100, tid);
}

/* The profile of a capture of which the first steps_max steps are kept; free with xspace's function. */
static xspace *profile(const struct text *lines, size_t steps_max)
{
	struct fixture fixture _fixture_ = fixture_open(text_string(lines));
	char path[] = "/tmp/gpuprobe-unit-XXXXXX.xplane.pb";
	int fd _cleanup_close_ = mkstemps(path, strlen(".xplane.pb"));
	const struct exporter *exporter;
	struct err err = {0};
	static u8 bytes[1 << 16];
	u64 size_bytes;
	ssize_t count;

	steps_state(fixture.view)->limits.steps = steps_max;
	CHECK_OK(exporter_find(path, "xplane", &exporter, &err), err);
	CHECK_OK(exporter_write(exporter, fixture.view, path, &size_bytes, &err), err);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	count = read(fd, bytes, sizeof(bytes));
	unlink(path);
	CHECK(count > 0 && (u64)count == size_bytes);
	return tensorflow__profiler__xspace__unpack(NULL, count, bytes);
}

static void check_warnings(const struct text *lines, size_t steps_max, const char *expected)
{
	xspace *space = profile(lines, steps_max);
	struct text found _cleanup_text_ = {0};

	CHECK(space != NULL);
	/* The fixture's launches and GPU have no facts, which is another entry. */
	for (size_t i = 0; space && i < space->n_warnings; i++)
		if (strstr(space->warnings[i], "steps"))
			text_appendf(&found, "%s\n", space->warnings[i]);
	CHECK_STRING(text_string(&found), expected);
	CHECK_U64(space ? space->n_errors : 1, 0);
	if (space)
		tensorflow__profiler__xspace__free_unpacked(space, NULL);
}

TEST(all_steps_are_shown)
{
	struct text lines _cleanup_text_ = {0};

	for (unsigned i = 0; i < STEPS; i++)
		step(&lines, 1, i);
	check_warnings(&lines, STEPS, "");
}

TEST(steps_for_which_there_is_no_room_are_said)
{
	struct text lines _cleanup_text_ = {0};

	for (unsigned i = 0; i < STEPS; i++)
		step(&lines, 1, i);
	check_warnings(&lines, 5,
		       "gpuprobe: 3 steps are left out: there is room for the first 131072\n");
}

TEST(steps_of_a_second_thread_are_said)
{
	struct text lines _cleanup_text_ = {0};

	for (unsigned i = 0; i < STEPS; i++) {
		step(&lines, 1, i);
		if (i < 5)
			step(&lines, 2, i);
	}
	check_warnings(
		&lines, 2 * STEPS,
		"gpuprobe: 5 steps of other threads are not shown as steps: XProf knows one "
		"sequence a process, that of the thread that launched most (gpuprobe stats -r "
		"steps has all)\n");
}

/* The work of a step waits for longer than the next one's does, on another stream. */
TEST(steps_whose_work_on_a_GPU_comes_first_are_said)
{
	struct text lines _cleanup_text_ = {0};

	for (unsigned i = 0; i < STEPS; i++)
		step(&lines, 1, i);
	text_appendf(
		&lines,
		"{\"kind\":\"range\",\"pid\":1,\"tid\":1,\"name\":\"step "
		"8\",\"ts\":1008000,\"dur\":900}\n"
		"{\"kind\":\"api\",\"pid\":1,\"tid\":1,\"name\":\"cuLaunchKernel\",\"ts\":1008010,"
		"\"dur\":5,\"correlation\":900}\n"
		"{\"kind\":\"range\",\"pid\":1,\"tid\":1,\"name\":\"step "
		"9\",\"ts\":1009000,\"dur\":900}\n"
		"{\"kind\":\"api\",\"pid\":1,\"tid\":1,\"name\":\"cuLaunchKernel\",\"ts\":1009010,"
		"\"dur\":5,\"correlation\":901}\n"
		"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"k\",\"correlation\":901,\"ts\":1009100,"
		"\"dur\":50,"
		"\"device\":\"gpu\",\"stream\":\"s2\"}\n"
		"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"k\",\"correlation\":900,\"ts\":1009500,"
		"\"dur\":50,"
		"\"device\":\"gpu\",\"stream\":\"s1\"}\n");
	check_warnings(
		&lines, 2 * STEPS,
		"gpuprobe: 1 steps have no time of their own on a GPU: their work there began "
		"before that of the step before\n");
}

UNIT_MAIN()
