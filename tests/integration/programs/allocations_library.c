/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For allocations_odd: a library that allocates, and an allocator of 4096-byte blocks that are never given to anybody else. */
#include <stdlib.h>
#include <sys/mman.h>

#define BYTES 700

void *library_allocate(void)
{
	void *volatile block = malloc(BYTES);

	return block;
}

__attribute__((noinline)) void *je_malloc(size_t bytes)
{
	void *block = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return bytes <= 4096 && block != MAP_FAILED ? block : NULL;
}

__attribute__((noinline)) void je_free(void *block)
{
	munmap(block, 4096);
}
