/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulated cuBLASLt: what is called to say sizes, and cublasLtMatmul(), declared as cublasLt.h of CUDA 13 does. Its objects
 * have in memory what those of the real ones have (docs/formats/cublaslt.md). It multiplies nothing: each call launches a kernel.
 */
#ifndef SIM_CUBLASLT_H
#define SIM_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>
#include <driver_types.h>
#include "cublas.h"

typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct {
	uint64_t data[14];
} cublasLtMatrixLayoutOpaque_t;
typedef cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef struct {
	uint64_t data[32];
} cublasLtMatmulDescOpaque_t;
typedef cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef struct {
	uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef enum {
	CUBLASLT_MATRIX_LAYOUT_ROWS = 2,
	CUBLASLT_MATRIX_LAYOUT_COLS = 3,
	CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
	CUBLASLT_MATRIX_LAYOUT_BATCH_MODE = 8,
} cublasLtMatrixLayoutAttribute_t;
typedef enum { CUBLASLT_MATMUL_DESC_TRANSA = 3, CUBLASLT_MATMUL_DESC_TRANSB = 4 } cublasLtMatmulDescAttributes_t;

size_t cublasLtGetVersion(void);
cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size, cudaDataType type, uint64_t rows,
						 uint64_t cols, int64_t ld);
/* Takes those attributes, and cublasLtMatmulDescSetAttribute() its own. */
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
						const void *value, size_t size);
cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, size_t size, cublasComputeType_t compute,
					       cudaDataType_t scale);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
					      const void *value, size_t size);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void *alpha, const void *A,
			      cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta,
			      const void *C, cublasLtMatrixLayout_t Cdesc, void *D, cublasLtMatrixLayout_t Ddesc,
			      const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_bytes, cudaStream_t stream);

#endif
