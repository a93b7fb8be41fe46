/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/thread.h"

#include <sched.h>
#include <signal.h>

#define WORKERS_MAX 16
#define STARTED_MAX 255

int thread_start(pthread_t *ret_thread, void *(*run)(void *data), void *data)
{
	sigset_t all, before;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = -pthread_create(ret_thread, NULL, run, data);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}

size_t thread_workers(size_t pieces)
{
	cpu_set_t allowed;
	size_t count =
		sched_getaffinity(0, sizeof(allowed), &allowed) ? 1 : (size_t)CPU_COUNT(&allowed);

	count = count < pieces ? count : pieces;
	return count < 1 ? 1 : count > WORKERS_MAX ? WORKERS_MAX : count;
}

void thread_run_together(size_t count, void *(*run)(void *data), void *data)
{
	pthread_t threads[STARTED_MAX];
	size_t started = 0;

	while (started < STARTED_MAX && started + 1 < count &&
	       !thread_start(&threads[started], run, data))
		started++;
	run(data);
	while (started)
		pthread_join(threads[--started], NULL);
}
