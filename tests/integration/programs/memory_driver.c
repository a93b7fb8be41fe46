/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcuda.so.1 as far as memory goes, with nothing behind the addresses. What is freed is the first to be given out again, so
 * that one address has many owners. cuMemHostAlloc and cuMemFreeHost begin as the functions of NVIDIA's driver do: they
 * jump on through a table.
 */
#include <pthread.h>
#include <stdbool.h>

#include "memory.h"

#define BLOCKS_MAX  (1 << 17)
#define FIRST	    0x7a0000000000ULL
#define BLOCK_BYTES (1ULL << 24)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool taken[BLOCKS_MAX];
static size_t freed[BLOCKS_MAX], freed_count, never_used;

static int allocate(uint64_t *address, size_t bytes)
{
	int result = 2;
	size_t block;

	if (bytes >= FAILS)
		return result;
	if (!bytes)
		return 1;
	pthread_mutex_lock(&lock);
	if (freed_count || never_used < BLOCKS_MAX) {
		block = freed_count ? freed[--freed_count] : never_used++;
		taken[block] = true;
		*address = FIRST + block * BLOCK_BYTES;
		result = 0;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static int release(uint64_t address)
{
	size_t block = (address - FIRST) / BLOCK_BYTES;
	int result = 1;

	if (!address)
		return 0;
	pthread_mutex_lock(&lock);
	if (address >= FIRST && block < BLOCKS_MAX && taken[block]) {
		taken[block] = false;
		freed[freed_count++] = block;
		result = 0;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	return allocate(address, bytes);
}

int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height,
		       unsigned int element)
{
	int result = allocate(address, PITCH(width) * height);

	if (!result)
		*pitch = PITCH(width);
	return result;
}

/* By a driver function that has a row of its own. */
int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned int flags)
{
	int result = cuMemAlloc_v2(address, bytes);

	return result;
}

int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream)
{
	return allocate(address, bytes);
}

int cuMemAllocAsync_ptsz(uint64_t *address, size_t bytes, void *stream)
{
	return allocate(address, bytes);
}

int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool, void *stream)
{
	return allocate(address, bytes);
}

int cuMemAllocHost_v2(void **address, size_t bytes)
{
	return allocate((uint64_t *)address, bytes);
}

int cuMemCreate(uint64_t *handle, size_t bytes, const void *properties, unsigned long long flags)
{
	return allocate(handle, bytes);
}

int cuMemFree_v2(uint64_t address)
{
	return release(address);
}

int cuMemFreeAsync(uint64_t address, void *stream)
{
	return release(address);
}

int cuMemRelease(uint64_t handle)
{
	return release(handle);
}

int cuMemcpy(uint64_t to, uint64_t from, size_t bytes)
{
	return 0;
}

static __attribute__((used)) int do_host_alloc(void **address, size_t bytes, unsigned int flags)
{
	return allocate((uint64_t *)address, bytes);
}

static __attribute__((used)) int do_free_host(void *address)
{
	return release((uint64_t)address);
}

#define STUB(name)                                     \
	".globl " #name "\n"                           \
	".type " #name ", @function\n"                 \
	".p2align 4\n" #name ":\n"                     \
	"	cmpl $0x321cba00, memory_state(%rip)\n"      \
	"	je 1f\n"                                     \
	"	jmp *" #name "_implementation(%rip)\n" \
	"1:	movl $4, %eax\n"                           \
	"	ret\n"                                       \
	".size " #name ", . - " #name "\n"
#define SLOT(name, implementation) #name "_implementation: .quad " #implementation "\n"

/* clang-format off */
__asm__(".text\n"
	STUB(cuMemHostAlloc)
	STUB(cuMemFreeHost)
	".data\n"
	".p2align 3\n"
	"memory_state: .quad 0\n"
	SLOT(cuMemHostAlloc, do_host_alloc)
	SLOT(cuMemFreeHost, do_free_host)
	".text\n");
/* clang-format on */
