/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deep FRAMES CALLS: waits for a line, then calls malloc() so often below so many frames, without frame pointers. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sink;

static void allocate(long calls)
{
	for (long i = 0; i < calls; i++) {
		void *volatile block = malloc(100);

		free(block);
	}
}

__attribute__((noinline, noclone)) static void descend(long frames, long calls)
{
	volatile char room[100];

	room[frames % 100] = 1;
	if (frames > 0)
		descend(frames - 1, calls);
	else
		allocate(calls);
	sink += room[frames % 100];
}

int main(int argc, char **argv)
{
	char line[16];

	if (argc != 3 || !fgets(line, sizeof(line), stdin))
		return 1;
	descend(atol(argv[1]), atol(argv[2]));
	puts("done");
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) ? 0 : 1;
}
