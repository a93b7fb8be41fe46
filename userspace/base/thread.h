/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of gpuprobe that no signal interrupts: signals are for the threads that wait for them. */
#ifndef GPUPROBE_BASE_THREAD_H
#define GPUPROBE_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create(), but 0 or -errno. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *data), void *data);
/* On how many processors this one may run; at least 1. */
size_t thread_processors(void);

#endif
