/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulated cuBLAS: some of its functions, declared as cublas_api.h of CUDA 13 does, so that their arguments stand where
 * those of the real ones do. They multiply nothing and judge nothing: each launches kernels, whatever sizes it is given.
 */
#ifndef SIM_CUBLAS_H
#define SIM_CUBLAS_H

#include <stdint.h>
#include <cuComplex.h>
#include <library_types.h>

typedef struct cublasContext *cublasHandle_t; /* here: a cudaStream_t */
typedef enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_EXECUTION_FAILED = 13 } cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum { CUBLAS_COMPUTE_32F = 68 } cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;

/* One kernel each. */
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
			      const float *alpha, const float *A, int lda, const float *B, int ldb, const float *beta, float *C,
			      int ldc);
cublasStatus_t cublasSgemm_v2_64(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,
				 int64_t n, int64_t k, const float *alpha, const float *A, int64_t lda, const float *B,
				 int64_t ldb, const float *beta, float *C, int64_t ldc);
cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
			      const double *alpha, const double *A, int lda, const double *B, int ldb, const double *beta,
			      double *C, int ldc);
cublasStatus_t cublasCgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
			      const cuComplex *alpha, const cuComplex *A, int lda, const cuComplex *B, int ldb,
			      const cuComplex *beta, cuComplex *C, int ldc);
cublasStatus_t cublasDgemmBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
				  int k, const double *alpha, const double *const Aarray[], int lda,
				  const double *const Barray[], int ldb, const double *beta, double *const Carray[], int ldc,
				  int batchCount);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
					  int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda,
					  long long int strideA, const void *B, cudaDataType Btype, int ldb,
					  long long int strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
					  long long int strideC, int batchCount, cublasComputeType_t computeType,
					  cublasGemmAlgo_t algo);
cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,
				      int64_t n, int64_t k, const void *alpha, const void *const Aarray[],
				      cudaDataType Atype, int64_t lda, const void *const Barray[], cudaDataType Btype,
				      int64_t ldb, const void *beta, void *const Carray[], cudaDataType Ctype, int64_t ldc,
				      int64_t batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo);
cublasStatus_t cublasZgemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const cuDoubleComplex *alpha,
			      const cuDoubleComplex *A, int lda, const cuDoubleComplex *x, int incx,
			      const cuDoubleComplex *beta, cuDoubleComplex *y, int incy);

/* Sets its workspace, then two kernels: the product in parts, and their sum. */
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
			    const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B, cudaDataType Btype,
			    int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
			    cublasGemmAlgo_t algo);

/* Calls cublasGemmStridedBatchedEx(). */
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
					 int n, int k, const float *alpha, const float *A, int lda, long long int strideA,
					 const float *B, int ldb, long long int strideB, const float *beta, float *C, int ldc,
					 long long int strideC, int batchCount);

#endif
