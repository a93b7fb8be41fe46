/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a test program talks to its test (class Truth of lib.py): it prints "ready", waits for a
 * line, does what it is there for, prints how often it called each function and "done", and waits
 * for the end of its input.
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Not inlined, not cloned, not folded: a symbol of its own that can be probed. */
#define PROBED __attribute__((noinline, noclone, used))

/* One more line from the test; false at the end of the input. */
static inline int protocol_next(void)
{
	char line[64];

	return fgets(line, sizeof(line), stdin) != NULL;
}

static inline void protocol_begin(void)
{
	printf("ready\n");
	fflush(stdout);
	if (!protocol_next())
		exit(1);
}

static inline void protocol_count(const char *name, unsigned long count)
{
	printf("%s %lu\n", name, count);
}

static inline void protocol_done(void)
{
	printf("done\n");
	fflush(stdout);
}

/* For what gpuprobe does meanwhile. A busy machine may need a longer one, by PAUSE_MS of the environment. */
static inline void protocol_pause(unsigned milliseconds)
{
	const char *longer = getenv("PAUSE_MS");

	usleep(1000 * (longer ? (unsigned)atoi(longer) : milliseconds));
}

static inline void protocol_end(void)
{
	protocol_done();
	while (protocol_next())
		;
}

#endif
