/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread calls hot() as fast as it can, one sits in a call of it, one calls calm() and many small functions a thousand
 * times a second, from "go" to the next line of its input; all of it inside whole(). It counts the calls, and prints them
 * as the truth program does (truth.c).
 *
 *	hot [CALLS_PER_MILLISECOND]	of hot(); default: as many as it can
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"

/* The nop goes first: the cheap kind of first instruction. */
#define BEGIN_CHEAP __asm__ volatile("nop")

static atomic_bool stop;
static atomic_ulong hot_count, calm_count;
static unsigned long rate;
static volatile int sink;

PROBED void hot(bool sits)
{
	BEGIN_CHEAP;
	atomic_fetch_add_explicit(&hot_count, 1, memory_order_relaxed);
	while (sits && !atomic_load(&stop))
		usleep(1000);
	sink++;
}

PROBED void calm(void)
{
	BEGIN_CHEAP;
	atomic_fetch_add_explicit(&calm_count, 1, memory_order_relaxed);
	sink++;
}

#define SMALL(n)                    \
	PROBED void small_##n(void) \
	{                           \
		BEGIN_CHEAP;        \
		sink++;             \
	}
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define HUNDRED(X, n) \
	TEN(X, n##0)  \
	TEN(X, n##1)  \
	TEN(X, n##2)  \
	TEN(X, n##3) TEN(X, n##4) TEN(X, n##5) TEN(X, n##6) TEN(X, n##7) TEN(X, n##8) TEN(X, n##9)
HUNDRED(SMALL, 1)
HUNDRED(SMALL, 2)

#define NAME(n) small_##n,
static void (*const small_functions[])(void) = {HUNDRED(NAME, 1) HUNDRED(NAME, 2)};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *heat(void *argument)
{
	double start = now();
	unsigned long calls = 0;

	while (!atomic_load(&stop))
		for (int i = 0; i < 16; i++) {
			if (rate && calls > (now() - start) * 1e3 * rate)
				break;
			hot(false);
			calls++;
		}
	return argument;
}

static void *sit(void *argument)
{
	hot(true);
	return argument;
}

static void *stay_calm(void *argument)
{
	while (!atomic_load(&stop)) {
		calm();
		for (size_t i = 0; i < sizeof(small_functions) / sizeof(*small_functions); i += 7)
			small_functions[i]();
		usleep(1000);
	}
	return argument;
}

PROBED void whole(void)
{
	void *(*const mains[])(void *) = {sit, heat, stay_calm};
	pthread_t threads[3];

	BEGIN_CHEAP;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, mains[i], NULL);
	protocol_next();
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

int main(int count, char **arguments)
{
	rate = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
	protocol_begin();
	whole();
	protocol_count("hot", hot_count);
	protocol_count("calm", calm_count);
	protocol_end();
	return 0;
}
