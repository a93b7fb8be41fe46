/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that go to sleep for so short a time that most are woken before they are off their CPU, so that they need not
 * leave it; then each works for some milliseconds and waits for what never comes. Prints how many they are ("threads").
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"

#define THREADS 50

static atomic_int waiting;

static void work(long for_ns)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < for_ns);
}

static void *sleeper(void *unused)
{
	struct timespec shortest = {.tv_nsec = 1};

	prctl(PR_SET_TIMERSLACK, 1);
	nanosleep(&shortest, NULL);
	work(2500000);
	atomic_fetch_add(&waiting, 1);
	pause();
	return unused;
}

int main(void)
{
	pthread_t thread;

	protocol_begin();
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, sleeper, NULL))
			return 1;
		while (atomic_load(&waiting) != i + 1)
			usleep(100);
	}
	usleep(50000);
	protocol_count("threads", THREADS);
	protocol_end();
	return 0;
}
