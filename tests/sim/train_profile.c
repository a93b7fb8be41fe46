/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "profilers/profiler.h"
#include "train_profile.h"

/* As a profiler's schedule has it: who held CUPTI before may still have to let go. */
#define WARM_UP_US 50000

static const struct sim_profiler *profiler;
static struct sim_profile profile;
static unsigned long asked_before;

void train_profile_open(const char *paths)
{
	const char *comma = strchr(paths, ','), *why;
	char *library = strndup(paths, comma ? (size_t)(comma - paths) : strlen(paths));
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	profiler = handle ? dlsym(handle, "simProfiler") : NULL;
	why = !profiler ? dlerror() : comma ? profiler->open(comma + 1) : "no comma";
	if (why) {
		fprintf(stderr, "sim-train: --profiler %s: %s\n", paths, why);
		exit(2);
	}
	free(library);
}

void train_profile_load(FILE *answer, const char *paths)
{
	train_profile_open(paths);
	fprintf(answer, "{\"loaded\":true}\n");
}

void train_profile_begin(FILE *answer, unsigned long (*asked)(void))
{
	if (profiler)
		profiler->begin(&profile);
	usleep(WARM_UP_US);
	asked_before = asked();
	fprintf(answer, "{\"result\":%d}\n", profiler ? profile.result : -1);
}

void train_profile_end(FILE *answer, unsigned long asked, unsigned long slack)
{
	unsigned long expected = asked - asked_before;

	if (profiler)
		profiler->end(&profile);
	fprintf(answer,
		"{\"result\":%d,\"kernels\":%lu,\"kernels_min\":%lu,\"others\":%lu,"
		"\"foreign_buffers\":%lu,\"foreign_freed\":%lu}\n",
		profiler ? profile.result : -1, (unsigned long)profile.kernels,
		expected > slack ? expected - slack : 0, (unsigned long)profile.others,
		(unsigned long)profile.foreign_buffers, (unsigned long)profile.foreign_freed);
}

void train_profile_leave(void)
{
	if (profiler)
		profiler->leave();
}
