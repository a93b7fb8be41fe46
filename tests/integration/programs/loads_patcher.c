/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In its second turn it loads the library that its argument names, which keeps a copy of the beginning of munmap() as it is loaded, as
 * UCX does; then it calls what was copied so. Each turn it calls munmap() too.
 */
#include <dlfcn.h>
#include <sys/mman.h>

#include "protocol.h"

#define CALLS 100

int main(int argc, char **argv)
{
	unsigned (*breakpoints)(void) = NULL;

	(void)argc;
	protocol_begin();
	for (int turn = 0;; turn++) {
		if (turn == 1) {
			void *library = dlopen(argv[1], RTLD_NOW);

			breakpoints =
				library ? (unsigned (*)(void))dlsym(library, "breakpoints") : NULL;
			if (!breakpoints)
				return 2;
		}
		for (int i = 0; i < CALLS; i++)
			if (munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
				   4096))
				return 3;
		protocol_count("munmap", CALLS);
		protocol_count("breakpoints", breakpoints ? breakpoints() : 0);
		protocol_done();
		if (!protocol_next())
			return 0;
	}
}
