/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls probed functions without end in two threads, and checks every result. For each line of
 * input it prints what was wrong so far and how often it called: "failures F" and "outer N".
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "protocol.h"

static atomic_ulong calls, failures;
static __thread volatile long sink;

PROBED long leaf(long value)
{
	sink += value;
	return value + 1;
}

PROBED long outer(long value)
{
	return leaf(value) + leaf(value);
}

static void *caller(void *unused)
{
	for (long i = 0;; i++) {
		if (outer(i) != 2 * (i + 1))
			failures++;
		calls++;
		/* So that what is recorded of it can be read by a test. */
		if (i % 20 == 0)
			usleep(1000);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, caller, NULL);
	protocol_begin();
	do {
		protocol_count("failures", failures);
		protocol_count("outer", calls);
		protocol_done();
	} while (protocol_next());
	return failures != 0;
}
