/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that live one after the other; each calls functions of its own and of the C library, after a pause (PAUSE_MS
 * of the environment) in which it can be noticed that the one before has ended. The first one ends at once, or, with
 * the argument "later", after its calls.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "leaf_and_outer.h"
#include "protocol.h"

#define CALLS	    300
#define GENERATIONS 3

static void call(void)
{
	unsigned seed = 1;

	for (long i = 0; i < CALLS; i++)
		sink += outer(i) + rand_r(&seed);
}

static void *live(void *data)
{
	long generation = (long)data;
	pthread_t next;

	if (generation == 0)
		protocol_begin();
	else
		protocol_pause(400);
	call();
	if (generation + 1 < GENERATIONS) {
		pthread_create(&next, NULL, live, (void *)(generation + 1));
		return NULL;
	}
	protocol_count("outer", GENERATIONS * CALLS);
	protocol_count("leaf", GENERATIONS * 2 * CALLS);
	protocol_count("rand_r", GENERATIONS * CALLS);
	protocol_end();
	_exit(0);
}

int main(int count, char **arguments)
{
	pthread_t thread;

	if (count > 1 && strcmp(arguments[1], "later") == 0)
		live(0);
	else
		pthread_create(&thread, NULL, live, 0);
	pthread_exit(NULL);
}
