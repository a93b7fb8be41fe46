/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Preloaded into a process: another client of CUPTI (OTHER_CUPTI), which gives it a clock that is five seconds ahead and runs
 * 20 in a million too fast. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long long clock_ns(void)
{
	struct timespec now;
	unsigned long long ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	return ns + ns / 50000 + 5000000000ULL;
}

__attribute__((constructor)) static void begin(void)
{
	void *library = dlopen(getenv("OTHER_CUPTI"), RTLD_NOW);
	int (*give)(unsigned long long (*clock)(void)) =
		library ? dlsym(library, "cuptiActivityRegisterTimestampCallback") : NULL;

	if (!give || give(clock_ns))
		fprintf(stderr, "no clock was given\n");
}
