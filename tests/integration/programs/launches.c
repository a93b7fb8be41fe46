/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Launches kernels by a libcuda that it loads: by two functions, one of which it calls three times as often.
 *
 *	launches LIBCUDA
 */
#include <dlfcn.h>

#include "protocol.h"

#define ROUNDS 25

typedef int launch_function(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			    unsigned, void *, void **, void **);

static launch_function *launch;
static unsigned long often, seldom;

/* A kernel that there is none of: the driver says so, and is entered all the same. */
static PROBED int launch_it(void)
{
	return launch(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) + 1;
}

static PROBED int launches_often(void)
{
	often++;
	return launch_it() + 1;
}

static PROBED int launches_seldom(void)
{
	seldom++;
	return launch_it() + 2;
}

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*init)(unsigned) = library ? (int (*)(unsigned))dlsym(library, "cuInit") : NULL;
	int sum = 0;

	launch = library ? (launch_function *)dlsym(library, "cuLaunchKernel") : NULL;
	if (!init || !launch || init(0))
		return 2;
	protocol_begin();
	for (int round = 0; round < ROUNDS; round++) {
		for (volatile int i = 0; i < 3; i++)
			sum += launches_often();
		sum += launches_seldom();
	}
	protocol_count("launches_often", often);
	protocol_count("launches_seldom", seldom);
	protocol_pause(sum ? 100 : 0);
	protocol_end();
	return 0;
}
