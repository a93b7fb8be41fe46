/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/thread.h"

#include <sched.h>
#include <signal.h>

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

size_t thread_processors(void)
{
	cpu_set_t allowed;

	return sched_getaffinity(0, sizeof(allowed), &allowed) ? 1 : (size_t)CPU_COUNT(&allowed);
}
