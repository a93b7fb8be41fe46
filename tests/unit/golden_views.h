/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixtures of tests/golden as views, one after the other. */
#ifndef GPUPROBE_TESTS_GOLDEN_VIEWS_H
#define GPUPROBE_TESTS_GOLDEN_VIEWS_H

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"
#include "verbs/input.h"
#include "view/view.h"

/* From the folder in which the tests are built. */
#define GOLDEN_VIEWS "/../../tests/golden/*.ndjson"

/* What it returns is added up; path is for messages. */
typedef size_t golden_views_check(struct view *view, const char *path);

static inline size_t golden_views_check_one(const char *path, golden_views_check *check)
{
	struct input input;
	struct view *view = NULL;
	struct err err = {0};
	size_t count;

	CHECK_OK(input_open(path, &input, &err), err);
	CHECK_OK(view_open(input.reader, &view, &err), err);
	count = check(view, path);
	view_free(view);
	input_close(&input);
	return count;
}

/* Files NAME.out.ndjson are what a fixture is written as, and no fixtures. */
static inline size_t golden_views_check_all(golden_views_check *check)
{
	char pattern[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", pattern, sizeof(pattern) - sizeof(GOLDEN_VIEWS) - 1);
	size_t count = 0;
	glob_t found;

	CHECK(length > 0);
	pattern[length] = 0;
	snprintf(strrchr(pattern, '/'), sizeof(GOLDEN_VIEWS), "%s", GOLDEN_VIEWS);
	CHECK(!glob(pattern, 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!strstr(found.gl_pathv[i], ".out.ndjson"))
			count += golden_views_check_one(found.gl_pathv[i], check);
	globfree(&found);
	return count;
}

static inline bool has_gpu_work(const struct view *view)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};

	return view_has_any(view, work);
}

#endif
