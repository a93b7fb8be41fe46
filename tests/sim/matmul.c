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
#include "cublas/cublaslt.h"

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

static void init_layout(cublasLtMatrixLayout_t layout, cudaDataType type, uint64_t rows,
			uint64_t columns, int batch)
{
	CHECK(cublasLtMatrixLayoutInit_internal(layout, sizeof(*layout), type, rows, columns,
						(int64_t)rows));
	CHECK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
					       sizeof(batch)));
}

/* A, B and D as they are stored. */
struct products {
	cublasLtMatmulDescOpaque_t operation;
	cublasLtMatrixLayoutOpaque_t a, b, d;
};

static void init_products(struct products *products, const cublasOperation_t transforms[2],
			  const uint64_t sizes[3][2], const cudaDataType types[3], int batch)
{
	CHECK(cublasLtMatmulDescInit_internal(&products->operation, sizeof(products->operation),
					      CUBLAS_COMPUTE_32F, CUDA_R_32F));
	CHECK(cublasLtMatmulDescSetAttribute(&products->operation, CUBLASLT_MATMUL_DESC_TRANSA,
					     &transforms[0], sizeof(transforms[0])));
	CHECK(cublasLtMatmulDescSetAttribute(&products->operation, CUBLASLT_MATMUL_DESC_TRANSB,
					     &transforms[1], sizeof(transforms[1])));
	init_layout(&products->a, types[0], sizes[0][0], sizes[0][1], batch);
	init_layout(&products->b, types[1], sizes[1][0], sizes[1][1], batch);
	init_layout(&products->d, types[2], sizes[2][0], sizes[2][1], batch);
}

static void multiply(struct products *products, cublasLtMatrixLayout_t d, cudaStream_t stream)
{
	CHECK(cublasLtMatmul(NULL, &products->operation, NULL, NULL, &products->a, NULL,
			     &products->b, NULL, NULL, d, NULL, d, NULL, NULL, 0, stream));
}

static void sizes_in_objects(cudaStream_t stream)
{
	static const cudaDataType half[] = {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF};
	static const cudaDataType eight[] = {CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_32F};
	struct products products;

	init_products(&products, (cublasOperation_t[]){CUBLAS_OP_N, CUBLAS_OP_N},
		      (uint64_t[][2]){{101, 103}, {103, 102}, {101, 102}}, half, 1);
	multiply(&products, &products.d, stream);
	init_products(&products, (cublasOperation_t[]){CUBLAS_OP_T, CUBLAS_OP_C},
		      (uint64_t[][2]){{113, 111}, {112, 113}, {111, 112}}, eight, 114);
	multiply(&products, &products.d, stream);
	init_products(&products, (cublasOperation_t[]){CUBLAS_OP_T, CUBLAS_OP_N},
		      (uint64_t[][2]){{1ULL << 33, 121}, {1ULL << 33, 122}, {121, 122}}, half, 1);
	multiply(&products, &products.d, stream);
}

static void no_sizes_in_objects(cudaStream_t stream)
{
	static const cudaDataType half[] = {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF};
	const cublasOperation_t none[] = {CUBLAS_OP_N, CUBLAS_OP_N};
	const uint32_t grouped = 2;
	struct products products;

	/* A has not as many columns as B has rows. */
	init_products(&products, none, (uint64_t[][2]){{131, 134}, {133, 132}, {131, 132}}, half,
		      1);
	multiply(&products, &products.d, stream);
	/* Of which each has other sizes, which the GPU knows. */
	init_products(&products, none, (uint64_t[][2]){{141, 143}, {143, 142}, {141, 142}}, half,
		      1);
	CHECK(cublasLtMatrixLayoutSetAttribute(&products.a, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE,
					       &grouped, sizeof(grouped)));
	multiply(&products, &products.d, stream);
	/* Where nothing is. */
	multiply(&products, (cublasLtMatrixLayout_t)8, stream);
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
		sizes_in_objects(stream);
		no_sizes_in_objects(stream);
		outside_of_the_library(stream);
		CHECK(cudaStreamSynchronize(stream));
		rounds++;
		usleep(ROUND_PAUSE_US);
	}
	printf("{\"rounds\":%lu}\n", rounds);
	return 0;
}
