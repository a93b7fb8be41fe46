/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cublas.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

#define WORKSPACE_BYTES 4096

/* What nvcc's host code calls; no header has it. */
void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
			    const char *device_name, int thread_limit, void *thread_id,
			    void *block_id, void *block, void *grid, int *warp);

enum kernel {
	KERNEL_SGEMM,
	KERNEL_SGEMM_64,
	KERNEL_DGEMM,
	KERNEL_CGEMM,
	KERNEL_DGEMM_BATCHED,
	KERNEL_STRIDED,
	KERNEL_BATCHED,
	KERNEL_ZGEMV,
	KERNEL_SPLIT_K,
	KERNEL_SUM,
	KERNEL_COUNT,
};

static const char *const kernel_names[KERNEL_COUNT] = {
	[KERNEL_SGEMM] = "ampere_sgemm_128x64_nn",
	[KERNEL_SGEMM_64] = "ampere_sgemm_64x64_nn",
	[KERNEL_DGEMM] = "ampere_dgemm_64x64_nn",
	[KERNEL_CGEMM] = "ampere_cgemm_32x32_nn",
	[KERNEL_DGEMM_BATCHED] = "dgemm_largek_batched",
	[KERNEL_STRIDED] = "nvjet_tst_128x64_batched",
	[KERNEL_BATCHED] = "nvjet_qqtst_64x64_batched",
	[KERNEL_ZGEMV] = "gemv2T_kernel_complex",
	[KERNEL_SPLIT_K] = "cutlass_bf16_gemm_splitk",
	[KERNEL_SUM] = "splitKreduce_kernel",
};
/* Addresses that stand for host stubs. */
static const char kernel_stubs[KERNEL_COUNT];
static void *workspace;

static void __attribute__((constructor)) register_kernels(void)
{
	for (unsigned i = 0; i < KERNEL_COUNT; i++)
		__cudaRegisterFunction(NULL, &kernel_stubs[i], NULL, kernel_names[i], -1, NULL,
				       NULL, NULL, NULL, NULL);
}

static cublasStatus_t launch(cublasHandle_t handle, enum kernel kernel)
{
	int argument = 0;
	void *arguments[] = {&argument};
	cudaError_t error = cudaLaunchKernel(&kernel_stubs[kernel], (dim3){64, 1, 1},
					     (dim3){128, 1, 1}, arguments, 0, (cudaStream_t)handle);

	return error ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
			      cublasOperation_t transb, int m, int n, int k, const float *alpha,
			      const float *A, int lda, const float *B, int ldb, const float *beta,
			      float *C, int ldc)
{
	return launch(handle, KERNEL_SGEMM);
}

cublasStatus_t cublasSgemm_v2_64(cublasHandle_t handle, cublasOperation_t transa,
				 cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
				 const float *alpha, const float *A, int64_t lda, const float *B,
				 int64_t ldb, const float *beta, float *C, int64_t ldc)
{
	return launch(handle, KERNEL_SGEMM_64);
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
			      cublasOperation_t transb, int m, int n, int k, const double *alpha,
			      const double *A, int lda, const double *B, int ldb,
			      const double *beta, double *C, int ldc)
{
	return launch(handle, KERNEL_DGEMM);
}

cublasStatus_t cublasCgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
			      cublasOperation_t transb, int m, int n, int k, const cuComplex *alpha,
			      const cuComplex *A, int lda, const cuComplex *B, int ldb,
			      const cuComplex *beta, cuComplex *C, int ldc)
{
	return launch(handle, KERNEL_CGEMM);
}

cublasStatus_t cublasDgemmBatched(cublasHandle_t handle, cublasOperation_t transa,
				  cublasOperation_t transb, int m, int n, int k,
				  const double *alpha, const double *const Aarray[], int lda,
				  const double *const Barray[], int ldb, const double *beta,
				  double *const Carray[], int ldc, int batchCount)
{
	return launch(handle, KERNEL_DGEMM_BATCHED);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
					  cublasOperation_t transb, int m, int n, int k,
					  const void *alpha, const void *A, cudaDataType Atype,
					  int lda, long long int strideA, const void *B,
					  cudaDataType Btype, int ldb, long long int strideB,
					  const void *beta, void *C, cudaDataType Ctype, int ldc,
					  long long int strideC, int batchCount,
					  cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
	return launch(handle, KERNEL_STRIDED);
}

cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t transa,
				      cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
				      const void *alpha, const void *const Aarray[],
				      cudaDataType Atype, int64_t lda, const void *const Barray[],
				      cudaDataType Btype, int64_t ldb, const void *beta,
				      void *const Carray[], cudaDataType Ctype, int64_t ldc,
				      int64_t batchCount, cublasComputeType_t computeType,
				      cublasGemmAlgo_t algo)
{
	return launch(handle, KERNEL_BATCHED);
}

cublasStatus_t cublasZgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n,
			      const cuDoubleComplex *alpha, const cuDoubleComplex *A, int lda,
			      const cuDoubleComplex *x, int incx, const cuDoubleComplex *beta,
			      cuDoubleComplex *y, int incy)
{
	return launch(handle, KERNEL_ZGEMV);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
			    cublasOperation_t transb, int m, int n, int k, const void *alpha,
			    const void *A, cudaDataType Atype, int lda, const void *B,
			    cudaDataType Btype, int ldb, const void *beta, void *C,
			    cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
			    cublasGemmAlgo_t algo)
{
	if (!workspace && cudaMalloc(&workspace, WORKSPACE_BYTES))
		return CUBLAS_STATUS_EXECUTION_FAILED;
	if (cudaMemsetAsync(workspace, 0, WORKSPACE_BYTES, (cudaStream_t)handle) ||
	    launch(handle, KERNEL_SPLIT_K))
		return CUBLAS_STATUS_EXECUTION_FAILED;
	return launch(handle, KERNEL_SUM);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
					 cublasOperation_t transb, int m, int n, int k,
					 const float *alpha, const float *A, int lda,
					 long long int strideA, const float *B, int ldb,
					 long long int strideB, const float *beta, float *C,
					 int ldc, long long int strideC, int batchCount)
{
	/* By the PLT, so that the probe on it is hit. */
	return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, CUDA_R_32F,
					  lda, strideA, B, CUDA_R_32F, ldb, strideB, beta, C,
					  CUDA_R_32F, ldc, strideC, batchCount, CUBLAS_COMPUTE_32F,
					  CUBLAS_GEMM_DEFAULT);
}
