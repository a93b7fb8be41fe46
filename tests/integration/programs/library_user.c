/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the library that is named on its command line, and calls it. */
#include <dlfcn.h>

#include "protocol.h"

int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	void (*outer)(void) = library ? dlsym(library, "library_outer") : NULL;

	if (!outer)
		return 2;
	protocol_begin();
	for (int i = 0; i < 1000; i++)
		outer();
	protocol_count("library_outer", 1000);
	protocol_count("library_inner", 2000);
	protocol_end();
	return 0;
}
