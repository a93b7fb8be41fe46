/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with threads that work, allocate and wait. At the end of standard input it ends: exit status 0 when
 * nobody saw anything odd.
 *
 *	inject_target [THREADS_THAT_ALLOCATE]
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool stop;
static atomic_ulong odd, allocations;
/* Threads that have begun, and have of the libc what they will ever have: an arena. */
static atomic_int settled;

static void *allocate(void *data)
{
	unsigned seed = (unsigned)(size_t)data + 1;
	bool begun = false;

	while (!stop) {
		size_t size = (size_t)rand_r(&seed) % 100000 + 1;
		char *memory = malloc(size);

		memset(memory, (int)seed, size);
		odd += memory[size - 1] != (char)seed;
		free(memory);
		settled += !begun;
		begun = true;
		allocations++;
	}
	return NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

static void *wait_for_work(void *data)
{
	pthread_mutex_lock(&lock);
	settled++;
	while (!stop)
		odd += pthread_cond_wait(&wake, &lock) != 0;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t threads[64], waiter;
	char byte;

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, allocate, (void *)(size_t)i);
	pthread_create(&waiter, NULL, wait_for_work, NULL);
	/* What is compared with later is how it is now. */
	while (settled <= count)
		usleep(1000);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	stop = true;
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&wake);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	pthread_join(waiter, NULL);
	printf("allocations %lu odd %lu\n", (unsigned long)allocations, (unsigned long)odd);
	return odd != 0;
}
