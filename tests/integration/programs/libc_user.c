/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls rand_r of the C library that all processes share: as often as asked, or ("hammer") without
 * end. */
#include <string.h>

#include "protocol.h"

int main(int argc, char **argv)
{
	int (*volatile random)(unsigned *) = rand_r;
	unsigned seed = 1;

	if (argc > 1 && strcmp(argv[1], "hammer") == 0)
		for (;;)
			random(&seed);
	protocol_begin();
	for (int i = 0; i < 1000; i++)
		random(&seed);
	protocol_count("rand_r", 1000);
	protocol_end();
	return 0;
}
