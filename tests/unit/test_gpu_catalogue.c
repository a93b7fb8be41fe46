/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The catalogue of API functions: patterns that -F understands, by part and level. */
#include "unit.h"

#include <stdlib.h>

#include "plan/gpu_catalogue.h"
#include "plan/pattern.h"

#define BOTH (GPU_CATALOGUE_API | GPU_CATALOGUE_BEYOND)

static const char **patterns_of(unsigned parts, u64 level, size_t *ret_count)
{
	size_t count = gpu_catalogue_patterns(parts, level, NULL);
	const char **patterns = calloc(count + 1, sizeof(*patterns));

	CHECK_U64(gpu_catalogue_patterns(parts, level, patterns), count);
	*ret_count = count;
	return patterns;
}

/* Does one of them name this function of this file? */
static bool names(const char *const *patterns, size_t count, const char *file, const char *function)
{
	char *file_names[] = {(char *)file};
	const struct code_module module = {
		.path = (char *)file, .names = file_names, .name_count = 1};
	struct pattern_name name = {0};
	bool found = false;

	pattern_name_set(&name, function);
	for (size_t i = 0; i < count; i++) {
		struct pattern pattern;
		struct err err = {0};

		CHECK_OK(pattern_parse(patterns[i], &pattern, &err), err);
		CHECK(pattern.binary && !pattern.exclude);
		found |= pattern_matches_module(&pattern, &module, NULL) &&
			 pattern_matches_name(&pattern, &name);
		pattern_free(&pattern);
	}
	pattern_name_free(&name);
	return found;
}

TEST(functions_by_level)
{
	size_t count, more;
	const char **patterns = patterns_of(BOTH, 2, &count), **all = patterns_of(BOTH, 3, &more);

	CHECK(more > count);
	CHECK(names(patterns, count, "libcuda.so.1", "cuLaunchKernel"));
	CHECK(names(patterns, count, "libcuda.so.580.65.06", "cuLaunchKernelEx_ptsz"));
	CHECK(names(patterns, count, "libcuda.so.1", "cuMemcpyHtoDAsync_v2_ptsz"));
	/* The driver's tell of what the runtime's lead to, but of memory. */
	CHECK(!names(patterns, count, "libcudart.so.13", "cudaLaunchKernelExC"));
	CHECK(names(all, more, "libcudart.so.13", "cudaLaunchKernelExC"));
	CHECK(names(patterns, count, "libcudart-d0da41ae.so.11.0", "cudaMallocAsync"));
	CHECK(names(all, more, "libcudart-d0da41ae.so.11.0", "cudaMemcpyAsync"));
	CHECK(names(patterns, count, "libcublas.so.13", "cublasGemmEx"));
	CHECK(names(patterns, count, "libcublas.so.12", "cublasSgemm_v2"));
	CHECK(names(patterns, count, "libcublasLt.so.13", "cublasLtMatmul"));
	CHECK(!names(patterns, count, "libcublasLt.so.13", "cublasLtMatmulDescCreate"));
	CHECK(names(patterns, count, "libcudnn_graph.so.9", "cudnnBackendExecute"));
	CHECK(names(patterns, count, "libnccl.so.2", "ncclAllReduce"));
	CHECK(!names(patterns, count, "libcuda.so.1", "cuEventQuery"));
	CHECK(names(all, more, "libcuda.so.1", "cuEventQuery"));
	CHECK(!names(all, more, "libcuda.so.1", "cuInit"));
	CHECK(!names(all, more, "libc.so.6", "cuLaunchKernel"));
	free(patterns);
	free(all);
}

TEST(beside_an_agent_only_what_cupti_does_not_see)
{
	size_t count;
	const char **patterns = patterns_of(GPU_CATALOGUE_BEYOND, 3, &count);

	CHECK(count > 0);
	CHECK(!names(patterns, count, "libcuda.so.1", "cuLaunchKernel"));
	CHECK(!names(patterns, count, "libcudart.so.13", "cudaLaunchKernel"));
	CHECK(names(patterns, count, "libnccl.so.2", "ncclAllReduce"));
	free(patterns);
}

TEST(below_level_2_there_is_nothing)
{
	CHECK_U64(gpu_catalogue_patterns(BOTH, 1, NULL), 0);
	CHECK_U64(gpu_catalogue_patterns(0, 3, NULL), 0);
}

UNIT_MAIN()
