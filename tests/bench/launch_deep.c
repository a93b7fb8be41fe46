/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library for Python: launches from below so many of its own calls. Built by the section launch-stacks. */
#include <time.h>

typedef int (*launch_function)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			       unsigned block_x, unsigned block_y, unsigned block_z,
			       unsigned shared_bytes, void *stream, void **arguments, void **extra);

static long long thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* ns of CPU time that a launch takes, of so many. */
__attribute__((noinline)) double launch_deep(int calls, launch_function launch, void *function,
					     int count)
{
	volatile double result;
	long long begin;

	if (calls > 1) {
		result = launch_deep(calls - 1, launch, function, count);
		return result;
	}
	begin = thread_ns();
	for (int i = 0; i < count; i++)
		if (launch(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0))
			return -1;
	return (double)(thread_ns() - begin) / count;
}
