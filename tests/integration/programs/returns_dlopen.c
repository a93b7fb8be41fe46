/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain C in which nothing unwinds, until it opens a library in C++ that calls it back and throws through its frames:
 * what is known of the target when probes are put in does not hold to the end.
 */
#include <dlfcn.h>

#include "protocol.h"

#define ROUNDS 50

static void (*library_throw)(void);
static volatile long sink;

PROBED void passed_through(void)
{
	library_throw();
	sink++;
}

PROBED void called_back(void)
{
	passed_through();
	sink++;
}

PROBED long leaf(long value)
{
	sink += value;
	return value + 1;
}

int main(int argc, char **argv)
{
	int (*library_catch)(void (*function)(void));
	unsigned long failures = 0;
	void *library;

	if (argc < 2)
		return 1;
	protocol_begin();
	for (long i = 0; i < ROUNDS; i++)
		failures += leaf(i) != i + 1;
	library = dlopen(argv[1], RTLD_NOW);
	if (!library)
		return 1;
	*(void **)&library_throw = dlsym(library, "library_throw");
	*(void **)&library_catch = dlsym(library, "library_catch");
	for (int i = 0; i < ROUNDS; i++)
		failures += !library_catch(called_back);
	protocol_count("leaf", ROUNDS);
	protocol_count("called_back", ROUNDS);
	protocol_count("passed_through", ROUNDS);
	protocol_count("failures", failures);
	protocol_end();
	return 0;
}
