/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deep FRAMES CALLS: waits for a line, then calls malloc() so often below so many frames, without frame pointers. Each time a BPF
 * program of its own does bpf_get_stack() too.
 */
#include <stdlib.h>

#include "get_stack.h"

static volatile long sink;

__attribute__((noinline, noclone)) static void allocate_one(void)
{
	void *volatile block = malloc(100);

	free(block);
	sink++;
}

static void allocate(long calls)
{
	for (long i = 0; i < calls; i++)
		allocate_one();
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

	if (argc != 3)
		return 2;
	if (attach_get_stack(allocate_one) < 0) {
		perror("bpf_get_stack");
		return 1;
	}
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	descend(atol(argv[1]), atol(argv[2]));
	puts("done");
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) ? 0 : 1;
}
