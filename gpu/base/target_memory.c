/* SPDX-License-Identifier: MIT */
#include "target_memory.h"

/*
 * Of the target's libc, or of the allocator that stands before it; not there in a process without a libc. An allocator may
 * lack aligned_alloc(), and then free() would get memory that it does not know; it always has these two.
 */
extern void *malloc(size_t bytes) __attribute__((weak));
extern void free(void *memory) __attribute__((weak));

u8 *target_memory_allocate(size_t bytes)
{
	return malloc && free ? malloc(bytes) : NULL;
}

void target_memory_free(u8 *memory)
{
	free(memory);
}
