/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of functions that allocate memory: each has its arguments where CUDA's headers declare them. */
#include "unit.h"

#include "plan/allocators.h"
#include "cuda/only_gpu.h"
#include "../bpf/record.h"

#include <sys/stat.h>

static const struct allocator *row_of(const char *name)
{
	static const struct allocator none;
	const struct allocator *row = allocator_find(name);

	if (!row)
		UNIT_FAIL("no row for %s", name);
	return row ? row : &none;
}

TEST(a_function_that_is_none_of_them_has_no_row)
{
	CHECK(!allocator_find("cuMemAlloc"));
	CHECK(!allocator_find("cuMemAlloc_v"));
	CHECK(!allocator_find("cudaMallocArray"));
	CHECK(!allocator_find("main"));
	CHECK(!allocator_find(""));
}

TEST(each_row_allocates_or_releases)
{
#define ALLOCATOR(name, kind, ...) #name,
	static const char *const names[] = {
#include "plan/allocators.def"
	};
#undef ALLOCATOR

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct allocator *row = row_of(names[i]);
		bool frees = strstr(names[i], "Free") || strstr(names[i], "Release");

		CHECK_U64(row->released, frees);
		CHECK_U64(row->address, !frees);
		CHECK_U64(!row->bytes, frees);
		CHECK_U64(!row->memory, frees);
		CHECK_U64(row->success, ALLOCATOR_ZERO);
		CHECK_U64(row->async, strstr(names[i], "Async") ? VALUE_yes_no_yes : 0);
		CHECK_U64(row->pool, strstr(names[i], "FromPool") ? 3 : 0);
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(names[i], names[j]));
	}
}

#if __has_include(<cuda.h>) && __has_include(<cuda_runtime_api.h>)
#include <cuda.h>
#include <cuda_runtime_api.h>

/* The row says: address first, bytes second; and so do the headers. */
#define DECLARED(function, ...) \
	CHECK(__builtin_types_compatible_p(__typeof__(function), __VA_ARGS__))

TEST(the_headers_declare_what_the_rows_say)
{
	DECLARED(cuMemAlloc_v2, CUresult(CUdeviceptr *, size_t));
	DECLARED(cuMemAllocPitch_v2,
		 CUresult(CUdeviceptr *, size_t *, size_t, size_t, unsigned int));
	DECLARED(cuMemAllocManaged, CUresult(CUdeviceptr *, size_t, unsigned int));
	DECLARED(cuMemAllocAsync, CUresult(CUdeviceptr *, size_t, CUstream));
	DECLARED(cuMemAllocFromPoolAsync, CUresult(CUdeviceptr *, size_t, CUmemoryPool, CUstream));
	DECLARED(cuMemAllocHost_v2, CUresult(void **, size_t));
	DECLARED(cuMemHostAlloc, CUresult(void **, size_t, unsigned int));
	DECLARED(cuMemCreate, CUresult(CUmemGenericAllocationHandle *, size_t,
				       const CUmemAllocationProp *, unsigned long long));
	DECLARED(cuMemFree_v2, CUresult(CUdeviceptr));
	DECLARED(cuMemFreeAsync, CUresult(CUdeviceptr, CUstream));
	DECLARED(cuMemFreeHost, CUresult(void *));
	DECLARED(cuMemRelease, CUresult(CUmemGenericAllocationHandle));
	DECLARED(cudaMalloc, cudaError_t(void **, size_t));
	DECLARED(cudaMallocPitch, cudaError_t(void **, size_t *, size_t, size_t));
	DECLARED(cudaMalloc3D, cudaError_t(struct cudaPitchedPtr *, struct cudaExtent));
	DECLARED(cudaMallocManaged, cudaError_t(void **, size_t, unsigned int));
	DECLARED(cudaMallocAsync, cudaError_t(void **, size_t, cudaStream_t));
	DECLARED(cudaMallocFromPoolAsync,
		 cudaError_t(void **, size_t, cudaMemPool_t, cudaStream_t));
	DECLARED(cudaMallocHost, cudaError_t(void **, size_t));
	DECLARED(cudaHostAlloc, cudaError_t(void **, size_t, unsigned int));
	DECLARED(cudaFree, cudaError_t(void *));
	DECLARED(cudaFreeAsync, cudaError_t(void *, cudaStream_t));
	DECLARED(cudaFreeHost, cudaError_t(void *));
	CHECK_U64(sizeof(CUdeviceptr), sizeof(u64));
	CHECK_U64(sizeof(CUmemGenericAllocationHandle), sizeof(u64));
	CHECK_U64(offsetof(struct cudaPitchedPtr, ptr), 0);
	CHECK_U64(offsetof(struct cudaPitchedPtr, pitch) + 1,
		  row_of("cudaMalloc3D")->bytes_written);
	/* By value, in memory: width is the seventh word of arguments. */
	CHECK_U64(7 + offsetof(struct cudaExtent, height) / 8, row_of("cudaMalloc3D")->factors[0]);
	CHECK_U64(7 + offsetof(struct cudaExtent, depth) / 8, row_of("cudaMalloc3D")->factors[1]);
}
#endif

TEST(pitch_is_written_by_the_call_and_multiplied_by_the_height)
{
	static const char *const names[] = {"cuMemAllocPitch_v2", "cudaMallocPitch"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct allocator *row = row_of(names[i]);

		CHECK_U64(row->bytes, 2);
		CHECK_U64(row->bytes_written, 1);
		CHECK_U64(row->factors[0], 4);
		CHECK_U64(row->factors[1], 0);
	}
}

TEST(kinds_of_memory)
{
	CHECK_U64(row_of("cuMemAlloc_v2")->memory, VALUE_memory_kind_device);
	CHECK_U64(row_of("cuMemCreate")->memory, VALUE_memory_kind_device);
	CHECK_U64(row_of("cudaMallocManaged")->memory, VALUE_memory_kind_managed);
	CHECK_U64(row_of("cuMemAllocHost_v2")->memory, VALUE_memory_kind_pinned);
	CHECK_U64(row_of("cudaHostAlloc")->memory, VALUE_memory_kind_pinned);
}

/* ---- the only GPU ---- */

static void add_gpu(const char *folder, const char *name, const char *information)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/%s/information", folder, name);
	file = information ? fopen(path, "w") : NULL;
	if (file) {
		fputs(information, file);
		fclose(file);
	}
}

TEST(the_device_is_known_where_there_is_one)
{
	char folder[] = "/tmp/gpuprobe-unit-XXXXXX", command[64];
	struct only_gpu gpu;

	CHECK(mkdtemp(folder));
	only_gpu_read(folder, &gpu);
	CHECK_U64(gpu.number, ~0U);
	CHECK_STRING(gpu.name, "");
	add_gpu(folder, "0000:41:00.0", "IRQ:\t 5\nModel: \t\t NVIDIA H100 80GB HBM3\nIRQ: 7\n");
	only_gpu_read(folder, &gpu);
	CHECK_U64(gpu.number, 0);
	CHECK_STRING(gpu.name, "NVIDIA H100 80GB HBM3");
	add_gpu(folder, "0000:42:00.0", NULL);
	only_gpu_read(folder, &gpu);
	CHECK_U64(gpu.number, ~0U);
	CHECK_STRING(gpu.name, "");
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK(system(command) == 0);
	only_gpu_read(folder, &gpu);
	CHECK_U64(gpu.number, ~0U);
}

UNIT_MAIN()
