/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures of threads that launch, for tests of steps. */
#ifndef GPUPROBE_TESTS_STEP_LINES_H
#define GPUPROBE_TESTS_STEP_LINES_H

#include "base/text.h"
#include "capture_fixture.h"
#include "steps/view_steps_parts.h"

/* A capture in the making: times and correlation numbers go up. */
struct lines {
	struct text text;
	unsigned long long now_ns;
	unsigned correlation;
};

static inline void span(struct lines *lines, const char *kind, const char *name, unsigned tid,
		 unsigned long long from, unsigned long long to)
{
	text_appendf(&lines->text,
		     "{\"kind\":\"%s\",\"pid\":1,\"tid\":%u,\"name\":\"%s\",\"ts\":%llu,\"dur\":"
		     "%llu}\n",
		     kind, tid, name, from, to - from);
}

static inline void api(struct lines *lines, const char *name, unsigned tid)
{
	text_appendf(&lines->text,
		     "{\"kind\":\"api\",\"pid\":1,\"tid\":%u,\"name\":\"%s\",\"ts\":%llu,\"dur\":5,"
		     "\"correlation\":%u}\n",
		     tid, name, lines->now_ns, ++lines->correlation);
}

/* A launch, and 10 ns later its kernel: 50 ns on stream `tid`. */
static inline void kernel(struct lines *lines, const char *name, unsigned tid, unsigned graph)
{
	api(lines, graph ? "cudaGraphLaunch_v10000" : "cudaLaunchKernel_v7000", tid);
	text_appendf(
		&lines->text,
		"{\"kind\":\"kernel\",\"pid\":1,\"name\":\"%s\",\"correlation\":%u,\"ts\":%llu,"
		"\"dur\":50,\"device\":\"gpu\",\"stream\":\"s%u\",\"graph\":%u}\n",
		name, lines->correlation, lines->now_ns + 10, tid, graph);
	lines->now_ns += 10;
}

static inline void copy(struct lines *lines, unsigned tid)
{
	api(lines, "cudaMemcpyAsync_v3020", tid);
	text_appendf(&lines->text,
		     "{\"kind\":\"copy\",\"pid\":1,\"correlation\":%u,\"ts\":%llu,\"dur\":5,"
		     "\"bytes\":1000,\"direction\":\"host_to_device\",\"device\":\"gpu\","
		     "\"stream\":\"s%u\"}\n",
		     lines->correlation, lines->now_ns + 10, tid);
	lines->now_ns += 10;
}

/* A step: a copy, kernels, a graph; then a pause. */
static inline void work(struct lines *lines, unsigned tid, unsigned graph)
{
	copy(lines, tid);
	kernel(lines, "first", tid, 0);
	kernel(lines, "twice", tid, 0);
	kernel(lines, "twice", tid, 0);
	if (graph)
		kernel(lines, "of_graph", tid, graph);
	kernel(lines, "last", tid, 0);
	lines->now_ns += 1000;
}

/* "tid:source:count" of each track. */
static inline void check_tracks(const struct view_steps *steps, const char *expected)
{
	struct text text _cleanup_text_ = {0};

	for (size_t i = 0; i < steps->track_count; i++)
		text_appendf(&text, "%s%u:%s:%zu", i ? " " : "", steps->tracks[i].tid,
			     view_step_source_text(steps->tracks[i].source),
			     steps->tracks[i].count);
	CHECK_STRING(text_string(&text), expected);
}

static inline const struct view_steps *steps_of(struct fixture *fixture, const char *glob)
{
	const struct view_steps *steps = NULL;
	struct err err = {0};

	CHECK(view_set_step_name(fixture->view, glob) == 0);
	CHECK_OK(view_steps(fixture->view, &steps, &err), err);
	return steps;
}

#endif
