/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executes itself anew inside a probed function, some times, then ends as the protocol wants. */
#include <unistd.h>

#include "protocol.h"

#define IMAGES 5

static volatile int sink;

PROBED void probed(void)
{
	sink++;
}

PROBED void execute(char *name, char *number)
{
	char *arguments[] = {name, number, NULL};

	execv("/proc/self/exe", arguments);
}

int main(int argc, char **argv)
{
	int image = argc > 1 ? atoi(argv[1]) : 0;
	char next[16];

	if (image == 0)
		protocol_begin();
	for (int i = 0; i < 10; i++)
		probed();
	snprintf(next, sizeof(next), "%d", image + 1);
	if (image + 1 < IMAGES)
		execute(argv[0], next);
	protocol_count("probed", IMAGES * 10);
	protocol_count("execute", IMAGES - 1);
	protocol_end();
	return 0;
}
