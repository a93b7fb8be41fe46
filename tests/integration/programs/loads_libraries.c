/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain C that opens libraries while it is recorded, by name, one for each word, and calls a function of its own in rounds
 * before and after each, as the test asks for them by a line.
 */
#include <dlfcn.h>

#include "protocol.h"

#define CALLS 20

static volatile long sink;

PROBED long leaf(long value)
{
	sink += value;
	return value + 1;
}

static unsigned long round_of_calls(void)
{
	unsigned long failures = 0;

	for (long i = 0; i < CALLS; i++)
		failures += leaf(i) != i + 1;
	return failures;
}

int main(int argc, char **argv)
{
	unsigned long failures;

	protocol_begin();
	failures = round_of_calls();
	protocol_count("leaf", CALLS);
	protocol_done();
	/* Rounds, one for each line; it that is "load" opens the next library first. */
	for (char line[64]; fgets(line, sizeof(line), stdin);) {
		if (line[0] == 'l' && argc > 1) {
			failures += !dlopen(argv[1], RTLD_NOW);
			argv++;
			argc--;
		}
		failures += round_of_calls();
		protocol_count("leaf", CALLS);
		protocol_count("failures", failures);
		protocol_done();
	}
	return 0;
}
