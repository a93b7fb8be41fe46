/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libcudart on top of memory_driver.c: its functions call the driver's, where they find the address. */
#include "memory.h"

void (*memory_hook)(void);

/* What a runtime does behind the call. */
static int done(int result)
{
	__asm__ volatile("" : "+r"(result));
	return result;
}

int cudaMalloc(void **address, size_t bytes)
{
	uint64_t found = 0;
	int result;

	if (memory_hook)
		memory_hook();
	if (!bytes) {
		*address = NULL;
		return 0;
	}
	result = cuMemAlloc_v2(&found, bytes);
	/* Another kind of failure: of what has been allocated already. */
	if (!result && bytes == 666) {
		cuMemFree_v2(found);
		result = 30;
	}
	if (!result)
		*address = (void *)found;
	return done(result);
}

int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
	return done(cuMemAllocPitch_v2((uint64_t *)address, pitch, width, height, 4));
}

int cudaMalloc3D(struct pitched *pitched, struct extent extent)
{
	pitched->width = extent.width;
	pitched->height = extent.height;
	return done(cuMemAllocPitch_v2((uint64_t *)&pitched->pointer, &pitched->pitch, extent.width,
				       extent.height * extent.depth, 4));
}

int cudaMallocManaged(void **address, size_t bytes, unsigned int flags)
{
	return done(cuMemAllocManaged((uint64_t *)address, bytes, flags));
}

int cudaMallocAsync(void **address, size_t bytes, void *stream)
{
	return done(cuMemAllocAsync((uint64_t *)address, bytes, stream));
}

int cudaMallocFromPoolAsync(void **address, size_t bytes, void *pool, void *stream)
{
	return done(cuMemAllocFromPoolAsync((uint64_t *)address, bytes, pool, stream));
}

int cudaMallocHost(void **address, size_t bytes)
{
	return done(cuMemAllocHost_v2(address, bytes));
}

int cudaHostAlloc(void **address, size_t bytes, unsigned int flags)
{
	return done(cuMemHostAlloc(address, bytes, flags));
}

int cudaFree(void *address)
{
	return done(cuMemFree_v2((uint64_t)address));
}

int cudaFreeAsync(void *address, void *stream)
{
	return done(cuMemFreeAsync((uint64_t)address, stream));
}

int cudaFreeHost(void *address)
{
	return done(cuMemFreeHost(address));
}
