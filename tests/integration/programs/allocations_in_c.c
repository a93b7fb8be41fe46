/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations and releases by a C library alone, for those that no C++ can be built with. After "go" it prints what it did,
 * as allocations.cc does: all.FIELD COUNT.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long calls, bytes, freed_calls, freed_bytes;

static void *took(void *block, size_t size)
{
	calls++;
	bytes += size;
	return block;
}

static void gave(void *block, size_t size)
{
	freed_calls++;
	freed_bytes += size;
	free(block);
}

static void work(void)
{
	char *kept[20], *moved;
	void *aligned;

	for (int i = 0; i < 20; i++)
		kept[i] = took(malloc(100 + i), 100 + i);
	for (int i = 0; i < 15; i++)
		gave(kept[i], 100 + i);
	gave(took(calloc(10, 30), 300), 300);
	/* Large ones come from the kernel, and go back to it. */
	gave(took(malloc(1 << 20), 1 << 20), 1 << 20);
	moved = took(malloc(50), 50);
	freed_calls++;
	freed_bytes += 50;
	moved = took(realloc(moved, 5000), 5000);
	gave(moved, 5000);
	if (posix_memalign(&aligned, 64, 640))
		abort();
	gave(took(aligned, 640), 640);
	gave(took(aligned_alloc(32, 320), 320), 320);
	kept[0] = took(strdup("a string"), 9);
	free(NULL);
}

int main(void)
{
	char line[16];

	/* Buffers of streams are allocations too. */
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	fgets(line, sizeof(line), stdin);
	work();
	printf("all.calls %lu\nall.bytes %lu\nall.freed_calls %lu\nall.freed_bytes "
	       "%lu\nall.live_calls %lu\nall.live_bytes %lu\n",
	       calls, bytes, freed_calls, freed_bytes, calls - freed_calls, bytes - freed_bytes);
	puts("done");
	fgets(line, sizeof(line), stdin);
	return 0;
}
