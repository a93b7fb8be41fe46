/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses without memory behind them for devices (kernels and copies move nothing), real memory for pinned and
 * managed allocations. One table of all ranges, ordered by address.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "driver.h"

#define DEVICE_SPACE_BYTES (256ull << 30)
#define GRANULE		   512ull
#define POOL_BLOCK	   (2ull << 20)

enum memory_kind {
	MEMORY_PAGEABLE = 1,
	MEMORY_PINNED = 2,
	MEMORY_DEVICE = 3,
	MEMORY_MANAGED = 5,
};

struct allocation {
	struct sim_range range;
	struct CUmemPoolHandle_st *pool;
	bool is_on_device; /* of managed memory */
};

static struct allocation *allocations;
static size_t allocation_count, allocation_capacity;
static uint64_t space_start[SIM_MAX_DEVICES];

/* Index of the first allocation at or above the address. */
static size_t lower_bound(uint64_t address)
{
	size_t low = 0, high = allocation_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (allocations[middle].range.address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert(struct allocation allocation)
{
	size_t index = lower_bound(allocation.range.address);

	if (allocation_count == allocation_capacity) {
		allocation_capacity = allocation_capacity ? 2 * allocation_capacity : 256;
		allocations = realloc(allocations, allocation_capacity * sizeof(allocations[0]));
	}
	memmove(&allocations[index + 1], &allocations[index],
		(allocation_count - index) * sizeof(allocations[0]));
	allocations[index] = allocation;
	allocation_count++;
}

struct sim_range sim_memory_find(uint64_t address)
{
	size_t index = lower_bound(address + 1);

	if (index > 0 &&
	    address - allocations[index - 1].range.address < allocations[index - 1].range.bytes)
		return allocations[index - 1].range;
	return (struct sim_range){.address = address, .kind = MEMORY_PAGEABLE};
}

bool sim_memory_move(uint64_t address, bool to_device, struct sim_range *ret_range)
{
	size_t index = lower_bound(address + 1);
	struct allocation *allocation = index ? &allocations[index - 1] : NULL;

	if (!allocation || allocation->range.kind != MEMORY_MANAGED ||
	    address - allocation->range.address >= allocation->range.bytes ||
	    allocation->is_on_device == to_device)
		return false;
	allocation->is_on_device = to_device;
	*ret_range = allocation->range;
	return true;
}

/* First gap of the device's address space that is large enough, 0 for none. */
static uint64_t find_gap(const struct sim_device *device, uint64_t bytes)
{
	uint64_t *start = &space_start[device->ordinal];
	uint64_t end, address;

	if (!*start) {
		void *space = mmap(NULL, DEVICE_SPACE_BYTES, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (space == MAP_FAILED)
			return 0;
		*start = (uint64_t)(uintptr_t)space;
	}
	address = *start;
	end = *start + DEVICE_SPACE_BYTES;
	for (size_t i = lower_bound(*start);
	     i < allocation_count && allocations[i].range.address < end; i++) {
		if (allocations[i].range.address - address >= bytes)
			return address;
		address = allocations[i].range.address +
			  (allocations[i].range.bytes + GRANULE - 1) / GRANULE * GRANULE;
	}
	return end - address >= bytes ? address : 0;
}

static void tell(const struct allocation *allocation, CUstream stream, bool is_release)
{
	CUcontext context = sim_current_context();
	struct sim_activity activity = {.kind = SIM_MEMORY,
					.stream_id = stream ? stream->id : UINT32_MAX};

	activity.context_id = context ? context->id : 0;
	activity.device =
		allocation->range.device ? (uint32_t)allocation->range.device->ordinal : UINT32_MAX;
	activity.start_ns = activity.end_ns = sim_now_ns();
	activity.memory.is_release = is_release;
	activity.memory.memory_kind = allocation->range.kind;
	activity.memory.async = stream != NULL;
	activity.memory.address = allocation->range.address;
	activity.memory.bytes = allocation->range.bytes;
	if (allocation->pool) {
		activity.memory.from_pool = true;
		activity.memory.pool = (struct sim_pool_state){
			allocation->pool->address, allocation->pool->reserved_bytes,
			allocation->pool->used_bytes, allocation->pool->release_threshold};
	}
	sim_truth_activity(&activity);
	sim_tools_submit(&activity);
	sim_tools_done(&activity);
}

static void tell_pool(const struct CUmemPoolHandle_st *pool, uint32_t operation,
		      uint64_t keep_bytes)
{
	struct sim_activity activity = {.kind = SIM_POOL,
					.device = (uint32_t)pool->device->ordinal};

	activity.start_ns = activity.end_ns = sim_now_ns();
	activity.pool.operation = operation;
	activity.pool.min_keep_bytes = keep_bytes;
	activity.pool.state = (struct sim_pool_state){pool->address, pool->reserved_bytes,
						      pool->used_bytes, pool->release_threshold};
	sim_truth_activity(&activity);
	sim_tools_submit(&activity);
	sim_tools_done(&activity);
}

static void count_device_bytes(struct sim_device *device, int64_t bytes)
{
	device->live_bytes += (uint64_t)bytes;
	if (device->live_bytes > device->peak_bytes)
		device->peak_bytes = device->live_bytes;
	sim_truth_memory(device->ordinal, device->live_bytes, device->peak_bytes);
}

/* Lock held. */
static CUresult allocate_device(uint64_t *address, size_t bytes, struct CUmemPoolHandle_st *pool,
				CUstream stream)
{
	CUcontext context = sim_current_context();
	struct allocation allocation = {.pool = pool};
	struct sim_device *device;

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	device = pool ? pool->device : context->device;
	if (bytes > device->facts.memory_bytes ||
	    device->live_bytes + bytes > device->facts.memory_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	allocation.range =
		(struct sim_range){find_gap(device, bytes), bytes, MEMORY_DEVICE, device};
	if (!allocation.range.address)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (pool) {
		if (!pool->reserved_bytes)
			tell_pool(pool, 1, 0);
		pool->used_bytes += bytes;
		if (pool->used_bytes > pool->reserved_bytes)
			pool->reserved_bytes =
				(pool->used_bytes + POOL_BLOCK - 1) / POOL_BLOCK * POOL_BLOCK;
	}
	insert(allocation);
	count_device_bytes(device, (int64_t)bytes);
	tell(&allocation, stream, false);
	*address = allocation.range.address;
	return CUDA_SUCCESS;
}

/* Lock held. */
static CUresult release(uint64_t address, uint8_t kind, uint8_t other_kind, CUstream stream)
{
	size_t index = lower_bound(address);
	struct allocation allocation;

	if (index == allocation_count || allocations[index].range.address != address)
		return CUDA_ERROR_INVALID_VALUE;
	allocation = allocations[index];
	if (allocation.range.kind != kind && allocation.range.kind != other_kind)
		return CUDA_ERROR_INVALID_VALUE;
	if (kind == MEMORY_DEVICE && !stream)
		sim_context_wait(sim_current_context());
	index = lower_bound(address);
	allocation_count--;
	memmove(&allocations[index], &allocations[index + 1],
		(allocation_count - index) * sizeof(allocations[0]));
	if (allocation.pool)
		allocation.pool->used_bytes -= allocation.range.bytes;
	if (allocation.range.kind == MEMORY_DEVICE)
		count_device_bytes(allocation.range.device, -(int64_t)allocation.range.bytes);
	else
		munmap((void *)(uintptr_t)address, allocation.range.bytes);
	tell(&allocation, stream, true);
	return CUDA_SUCCESS;
}

static CUresult allocate_host(void **address, size_t bytes, uint8_t kind)
{
	CUcontext context = sim_current_context();
	struct allocation allocation = {0};
	void *memory;

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	allocation.range =
		(struct sim_range){(uint64_t)(uintptr_t)memory, bytes, kind, context->device};
	pthread_mutex_lock(&sim_lock);
	insert(allocation);
	tell(&allocation, NULL, false);
	pthread_mutex_unlock(&sim_lock);
	*address = memory;
	return CUDA_SUCCESS;
}

CUresult run_cuMemAlloc_v2(const cuMemAlloc_v2_params *params)
{
	uint64_t address;
	CUresult result;

	sim_spend("alloc_us");
	pthread_mutex_lock(&sim_lock);
	result = allocate_device(&address, params->bytesize, NULL, NULL);
	pthread_mutex_unlock(&sim_lock);
	if (!result)
		*params->dptr = address;
	return result;
}

CUresult run_cuMemFree_v2(const cuMemFree_v2_params *params)
{
	CUresult result;

	if (!params->dptr)
		return CUDA_SUCCESS;
	if (!sim_current_context())
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_spend("alloc_us");
	pthread_mutex_lock(&sim_lock);
	if (sim_knob("free_waits", 0))
		sim_context_wait(sim_current_context());
	result = release(params->dptr, MEMORY_DEVICE, MEMORY_MANAGED, NULL);
	pthread_mutex_unlock(&sim_lock);
	return result;
}

static CUresult allocate_async(CUdeviceptr *pointer, size_t bytes, struct CUmemPoolHandle_st *pool,
			       CUstream handle)
{
	uint64_t address;
	CUresult result = CUDA_ERROR_INVALID_CONTEXT;
	CUstream stream;

	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(handle);
	if (stream)
		result = allocate_device(&address, bytes,
					 pool ? pool : &stream->context->device->pool, stream);
	pthread_mutex_unlock(&sim_lock);
	if (!result)
		*pointer = address;
	return result;
}

CUresult run_cuMemAllocAsync(const cuMemAllocAsync_params *params)
{
	return allocate_async(params->dptr, params->bytesize, NULL, params->hStream);
}

CUresult run_cuMemAllocFromPoolAsync(const cuMemAllocFromPoolAsync_params *params)
{
	return allocate_async(params->dptr, params->bytesize, params->pool, params->hStream);
}

CUresult run_cuMemFreeAsync(const cuMemFreeAsync_params *params)
{
	CUresult result = CUDA_ERROR_INVALID_CONTEXT;
	CUstream stream;

	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(params->hStream);
	if (stream)
		result = release(params->dptr, MEMORY_DEVICE, MEMORY_DEVICE, stream);
	pthread_mutex_unlock(&sim_lock);
	return result;
}

CUresult run_cuMemAllocHost_v2(const cuMemAllocHost_v2_params *params)
{
	return allocate_host(params->pp, params->bytesize, MEMORY_PINNED);
}

CUresult run_cuMemHostAlloc(const cuMemHostAlloc_params *params)
{
	return allocate_host(params->pp, params->bytesize, MEMORY_PINNED);
}

CUresult run_cuMemFreeHost(const cuMemFreeHost_params *params)
{
	CUresult result;

	pthread_mutex_lock(&sim_lock);
	result = release((uint64_t)(uintptr_t)params->p, MEMORY_PINNED, MEMORY_PINNED, NULL);
	pthread_mutex_unlock(&sim_lock);
	return result;
}

CUresult run_cuMemAllocManaged(const cuMemAllocManaged_params *params)
{
	void *memory;
	CUresult result = allocate_host(&memory, params->bytesize, MEMORY_MANAGED);

	if (!result)
		*params->dptr = (CUdeviceptr)(uintptr_t)memory;
	return result;
}

CUresult run_cuMemGetInfo_v2(const cuMemGetInfo_v2_params *params)
{
	CUcontext context = sim_current_context();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*params->total = context->device->facts.memory_bytes;
	*params->free = context->device->facts.memory_bytes - context->device->live_bytes;
	return CUDA_SUCCESS;
}

CUresult run_cuDeviceGetDefaultMemPool(const cuDeviceGetDefaultMemPool_params *params)
{
	if (params->dev < 0 || params->dev >= sim_device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	*params->pool_out = &sim_devices[params->dev].pool;
	return CUDA_SUCCESS;
}

CUresult run_cuDeviceGetMemPool(const cuDeviceGetMemPool_params *params)
{
	if (params->dev < 0 || params->dev >= sim_device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	*params->pool = &sim_devices[params->dev].pool;
	return CUDA_SUCCESS;
}

CUresult run_cuMemPoolCreate(const cuMemPoolCreate_params *params)
{
	int ordinal = params->poolProps->location.id;
	struct CUmemPoolHandle_st *pool;

	if (ordinal < 0 || ordinal >= sim_device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	pool = calloc(1, sizeof(*pool));
	pool->device = &sim_devices[ordinal];
	pool->address = (uint64_t)(uintptr_t)pool;
	*params->pool = pool;
	return CUDA_SUCCESS;
}

CUresult run_cuMemPoolDestroy(const cuMemPoolDestroy_params *params)
{
	if (!params->pool || params->pool->used_bytes ||
	    params->pool == &params->pool->device->pool)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&sim_lock);
	if (params->pool->reserved_bytes)
		tell_pool(params->pool, 2, 0);
	pthread_mutex_unlock(&sim_lock);
	free(params->pool);
	return CUDA_SUCCESS;
}

CUresult run_cuMemPoolTrimTo(const cuMemPoolTrimTo_params *params)
{
	uint64_t keep = params->minBytesToKeep;

	if (!params->pool)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&sim_lock);
	if (keep < params->pool->used_bytes)
		keep = params->pool->used_bytes;
	if (keep < params->pool->reserved_bytes)
		params->pool->reserved_bytes = (keep + POOL_BLOCK - 1) / POOL_BLOCK * POOL_BLOCK;
	tell_pool(params->pool, 3, params->minBytesToKeep);
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}
