/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that end inside probed functions, by pthread_exit and by being cancelled, with cleanup
 * handlers to run; and threads whose stacks were made by hand, in the heap and elsewhere.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "protocol.h"

#define THREADS	    20
#define CALLS	    100
#define STACK_BYTES (64 * 1024)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long cleaned;
static volatile int inside;
static __thread volatile long sink;

static void unlock(void *unused)
{
	cleaned++;
	pthread_mutex_unlock(&lock);
}

PROBED long leaf(long value)
{
	sink += value;
	return value + 1;
}

PROBED void ends_inside(void *exits)
{
	leaf(1);
	inside = 1;
	if (exits)
		pthread_exit(NULL);
	for (;;)
		pause(); /* where it is cancelled */
}

PROBED void holds_lock(void *exits)
{
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(unlock, NULL);
	ends_inside(exits);
	pthread_cleanup_pop(1);
}

static void *ending_thread(void *exits)
{
	holds_lock(exits);
	return NULL;
}

static void run_endings(void)
{
	for (long i = 0; i < THREADS; i++) {
		pthread_t thread;

		inside = 0;
		pthread_create(&thread, NULL, ending_thread, (void *)(i % 2));
		if (i % 2 == 0) {
			/* The first cancellation loads libgcc_s: before it, the call has begun. */
			while (!inside)
				usleep(1000);
			pthread_cancel(thread);
		}
		pthread_join(thread, NULL);
	}
}

PROBED long outer(long value)
{
	return leaf(value) + leaf(value);
}

static void *calling_thread(void *ret_failures)
{
	for (long i = 0; i < CALLS; i++)
		*(unsigned long *)ret_failures += outer(i) != 2 * (i + 1);
	return NULL;
}

static unsigned long run_stacks(void)
{
	static char in_data[STACK_BYTES] __attribute__((aligned(4096)));
	void *in_heap = malloc(STACK_BYTES);
	void *in_mapping =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *stacks[] = {in_data, in_heap, in_mapping};
	unsigned long failures[3] = {0};
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		pthread_attr_t attributes;

		pthread_attr_init(&attributes);
		pthread_attr_setstack(&attributes, stacks[i], STACK_BYTES);
		if (pthread_create(&threads[i], &attributes, calling_thread, &failures[i]))
			return 1000;
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return failures[0] + failures[1] + failures[2];
}

int main(void)
{
	unsigned long failures;

	protocol_begin();
	run_endings();
	failures = run_stacks() + (cleaned != THREADS) + (pthread_mutex_trylock(&lock) != 0);
	protocol_count("ends_inside", THREADS);
	protocol_count("holds_lock", THREADS);
	protocol_count("outer", 3 * CALLS);
	protocol_count("leaf", THREADS + 6 * CALLS);
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
