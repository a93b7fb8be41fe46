/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the made-up driver and runtime (memory_driver.c, memory_runtime.c) and their user (memory.c) share: the prototypes
 * are CUDA's, the words shorter. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define FAILS	     (1ULL << 40) /* a size that no call grants */
#define PITCH(width) (((width) + 511) / 512 * 512)

struct pitched {
	void *pointer;
	size_t pitch, width, height;
};

struct extent {
	size_t width, height, depth;
};

int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height,
		       unsigned int element);
int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned int flags);
int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream);
int cuMemAllocAsync_ptsz(uint64_t *address, size_t bytes, void *stream);
int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool, void *stream);
int cuMemAllocHost_v2(void **address, size_t bytes);
int cuMemHostAlloc(void **address, size_t bytes, unsigned int flags);
int cuMemCreate(uint64_t *handle, size_t bytes, const void *properties, unsigned long long flags);
int cuMemFree_v2(uint64_t address);
int cuMemFreeAsync(uint64_t address, void *stream);
int cuMemFreeHost(void *address);
int cuMemRelease(uint64_t handle);
int cuMemcpy(uint64_t to, uint64_t from, size_t bytes);

int cudaMalloc(void **address, size_t bytes);
int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height);
int cudaMalloc3D(struct pitched *pitched, struct extent extent);
int cudaMallocManaged(void **address, size_t bytes, unsigned int flags);
int cudaMallocAsync(void **address, size_t bytes, void *stream);
int cudaMallocFromPoolAsync(void **address, size_t bytes, void *pool, void *stream);
int cudaMallocHost(void **address, size_t bytes);
int cudaHostAlloc(void **address, size_t bytes, unsigned int flags);
int cudaFree(void *address);
int cudaFreeAsync(void *address, void *stream);
int cudaFreeHost(void *address);

/* Called by cudaMalloc, where it is set: it may leave by longjmp. */
extern void (*memory_hook)(void);

#endif
