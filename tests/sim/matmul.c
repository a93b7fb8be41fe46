/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sim-matmul: calls the simulated cuBLAS with sizes that tests/integration/test_matmul knows, the same round again and again
 * until SIGTERM, and prints how many rounds it made. With one argument N: after N rounds it ends by itself.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cuda_runtime_api.h>
#include "cublas/cublas.h"

#define ROUND_PAUSE_US 2000
#define HUGE_SIZE      2147483647
#define NO_TYPE	       ((cudaDataType)1000)

static atomic_bool is_ending;
static const char plain_stub;

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
			    const char *device_name, int thread_limit, void *thread_id,
			    void *block_id, void *block, void *grid, int *warp);

static void end(int number)
{
	is_ending = true;
}

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "sim-matmul: %s: error %d\n", what, result);
	exit(2);
}
#define CHECK(call) check((int)(call), #call)

static void sizes_of_all_kinds(cublasHandle_t h)
{
	const cublasOperation_t N = CUBLAS_OP_N, T = CUBLAS_OP_T;

	CHECK(cublasSgemm_v2(h, N, T, 128, 64, 256, NULL, NULL, 1, NULL, 2, NULL, NULL, 3));
	CHECK(cublasSgemm_v2_64(h, N, N, 1LL << 33, 2, 3, NULL, NULL, 1, NULL, 2, NULL, NULL, 3));
	CHECK(cublasDgemmBatched(h, N, N, 11, 12, 13, NULL, NULL, 1, NULL, 2, NULL, NULL, 3, 14));
	CHECK(cublasGemmStridedBatchedEx(h, T, N, 21, 22, 23, NULL, NULL, CUDA_R_16F, 1, 2, NULL,
					 CUDA_R_16BF, 3, 4, NULL, NULL, CUDA_R_32F, 5, 6, 24,
					 CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
	CHECK(cublasGemmBatchedEx_64(h, N, N, 31, 32, 33, NULL, NULL, CUDA_R_8F_E4M3, 1, NULL,
				     CUDA_R_8F_E5M2, 2, NULL, NULL, CUDA_R_16BF, 3, 34,
				     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
	CHECK(cublasZgemv_v2(h, N, 41, 42, NULL, NULL, 1, NULL, 2, NULL, NULL, 3));
	CHECK(cublasZgemv_v2(h, T, 43, 44, NULL, NULL, 1, NULL, 2, NULL, NULL, 3));
	CHECK(cublasGemmEx(h, N, N, 51, 52, 53, NULL, NULL, CUDA_R_16BF, 1, NULL, CUDA_R_16BF, 2,
			   NULL, NULL, CUDA_R_16BF, 3, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
	CHECK(cublasSgemmStridedBatched(h, N, N, 61, 62, 63, NULL, NULL, 1, 2, NULL, 3, 4, NULL,
					NULL, 5, 6, 64));
}

static void no_sizes(cublasHandle_t h)
{
	const cublasOperation_t N = CUBLAS_OP_N;

	CHECK(cublasDgemm_v2(h, N, N, 71, -72, 73, NULL, NULL, 1, NULL, 2, NULL, NULL, 3));
	CHECK(cublasCgemm_v2(h, N, N, HUGE_SIZE, HUGE_SIZE, HUGE_SIZE, NULL, NULL, 1, NULL, 2, NULL,
			     NULL, 3));
	CHECK(cublasGemmEx(h, N, N, 81, 82, 83, NULL, NULL, NO_TYPE, 1, NULL, (cudaDataType)-1, 2,
			   NULL, NULL, CUDA_R_32F, 3, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

static void outside_of_the_library(cudaStream_t stream)
{
	int argument = 0;
	void *arguments[] = {&argument};

	CHECK(cudaLaunchKernel(&plain_stub, (dim3){8, 1, 1}, (dim3){128, 1, 1}, arguments, 0,
			       stream));
}

int main(int argc, char **argv)
{
	unsigned long rounds = 0, wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	cudaStream_t stream;

	signal(SIGTERM, end);
	__cudaRegisterFunction(NULL, &plain_stub, NULL, "outside_of_the_library", -1, NULL, NULL,
			       NULL, NULL, NULL);
	CHECK(cudaStreamCreate(&stream));
	while (!is_ending && (!wanted || rounds < wanted)) {
		sizes_of_all_kinds((cublasHandle_t)stream);
		no_sizes((cublasHandle_t)stream);
		outside_of_the_library(stream);
		CHECK(cudaStreamSynchronize(stream));
		rounds++;
		usleep(ROUND_PAUSE_US);
	}
	printf("{\"rounds\":%lu}\n", rounds);
	return 0;
}
