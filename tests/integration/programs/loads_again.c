/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has a library loaded, its argument; in its second turn it loads it once more, elsewhere, and lets that one change its own code. Each turn
 * it calls answer() of those that there are. */
#include <dlfcn.h>

#include "protocol.h"

#define CALLS 1000

static void *symbol(void *library, const char *name)
{
	void *found = library ? dlsym(library, name) : NULL;

	if (!found)
		exit(2);
	return found;
}

int main(int argc, char **argv)
{
	int (*answer)(void) = symbol(argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL, "answer"),
	    (*second)(void) = NULL;

	protocol_begin();
	for (int turn = 0;; turn++) {
		unsigned long wrong = 0;

		if (turn == 1) {
			void *again = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
			int (*change)(void) = symbol(again, "change");

			second = symbol(again, "answer");
			if (second() != 1 || change())
				return 3;
		}
		for (int i = 0; i < CALLS; i++)
			wrong += answer() != 1 || (second && second() != 2);
		protocol_count("wrong", wrong);
		protocol_done();
		if (!protocol_next())
			return 0;
	}
}
