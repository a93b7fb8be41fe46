/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls functions as fast as it can, or at a given rate, from some threads for some seconds, and
 * prints how often: the truth that a capture is compared with. Waits for a line on its standard
 * input before it begins, and for the end of the input before it ends.
 *
 *	hammer THREADS SECONDS CALLS_PER_SECOND(0: as fast as it can)
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS	    8 /* between two looks at the clock */
#define CALLS	    4 /* hammered_outer() and what it calls */
#define THREADS_MAX 64

/* They begin with `push %rbp`, as functions of some size do: the cheap kind of first instruction.
 */
/* They begin with `push %rbx`, as functions of some size do: the cheap kind of first instruction.
 */
#define HAMMERED    __attribute__((noinline, noclone))
#define BEGIN_CHEAP __asm__ volatile("" ::: "rbx")

static atomic_ulong total;
static double seconds, rate;
static _Thread_local volatile int sink;

HAMMERED void hammered_leaf(void)
{
	BEGIN_CHEAP;
	sink++;
}

HAMMERED void hammered_inner(void)
{
	BEGIN_CHEAP;
	hammered_leaf();
	sink++;
}

HAMMERED void hammered_outer(void)
{
	BEGIN_CHEAP;
	hammered_inner();
	hammered_leaf();
	sink++;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *hammer(void *argument)
{
	double start = now(), elapsed = 0;
	unsigned long calls = 0;

	(void)argument;
	while (elapsed < seconds) {
		if (rate == 0 || calls < rate * elapsed)
			for (int i = 0; i < ROUNDS; i++, calls += CALLS)
				hammered_outer();
		elapsed = now() - start;
	}
	atomic_fetch_add(&total, calls);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t ids[THREADS_MAX];
	char line[64];

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	seconds = argc > 2 ? atof(argv[2]) : 10;
	rate = argc > 3 ? atof(argv[3]) / threads : 0;
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, hammer, NULL))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("hammered %lu\n", (unsigned long)total);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
