/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of gpuprobe that no signal interrupts: signals are for the threads that wait for them. */
#ifndef GPUPROBE_BASE_THREAD_H
#define GPUPROBE_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create(), but 0 or -errno. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *data), void *data);
/* How many threads are worth it for so many pieces of work: at least 1, at most one a processor that this one may run on, and 16. */
size_t thread_workers(size_t pieces);
/* Calls run(data) in so many threads at the same time, of which this is one, 256 at most; in fewer where no more can be started. Comes
 * back when all have. */
void thread_run_together(size_t count, void *(*run)(void *data), void *data);

#endif
