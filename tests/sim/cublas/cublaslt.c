/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cublaslt.h"

#include <stdbool.h>
#include <string.h>
#include <cuda_runtime_api.h>

#define VERSION 130002
#define INVALID 7 /* CUBLAS_STATUS_INVALID_VALUE */
#define TYPE	0
/* A library that has them elsewhere: what a later version may do. */
#ifndef ROWS
#define ROWS	8
#define COLUMNS 16
#endif
#define LEADING	    24
#define BATCH	    32
#define BATCH_MODE  36
#define COMPUTE	    8
#define SCALE	    12
#define TRANSFORM_A 20
#define TRANSFORM_B 24
#define FILL_MODE   32
#define EPILOGUE    36
#define FILL_FULL   2
#define EPILOGUE_NO 1

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
			    const char *device_name, int thread_limit, void *thread_id,
			    void *block_id, void *block, void *grid, int *warp);

static const char kernel_stub;
static bool is_registered;

size_t cublasLtGetVersion(void)
{
	return VERSION;
}

static void put(void *object, size_t offset, const void *value, size_t size)
{
	memcpy((char *)object + offset, value, size);
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size,
						 cudaDataType type, uint64_t rows, uint64_t cols,
						 int64_t ld)
{
	int32_t batch = 1;

	if (size < sizeof(*layout))
		return INVALID;
	memset(layout, 0, sizeof(*layout));
	put(layout, TYPE, &type, sizeof(type));
	put(layout, ROWS, &rows, sizeof(rows));
	put(layout, COLUMNS, &cols, sizeof(cols));
	put(layout, LEADING, &ld, sizeof(ld));
	put(layout, BATCH, &batch, sizeof(batch));
	return CUBLAS_STATUS_SUCCESS;
}

/* offsets, sizes: by attribute */
static cublasStatus_t set(void *object, const size_t *offsets, const size_t *sizes, size_t count,
			  size_t attribute, const void *value, size_t size)
{
	if (attribute >= count || !offsets[attribute] || size != sizes[attribute])
		return INVALID;
	put(object, offsets[attribute], value, size);
	return CUBLAS_STATUS_SUCCESS;
}

#define ATTRIBUTES 9

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
						cublasLtMatrixLayoutAttribute_t attribute,
						const void *value, size_t size)
{
	static const size_t offsets[ATTRIBUTES] = {
		[CUBLASLT_MATRIX_LAYOUT_ROWS] = ROWS,
		[CUBLASLT_MATRIX_LAYOUT_COLS] = COLUMNS,
		[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = BATCH,
		[CUBLASLT_MATRIX_LAYOUT_BATCH_MODE] = BATCH_MODE,
	};
	static const size_t sizes[ATTRIBUTES] = {
		[CUBLASLT_MATRIX_LAYOUT_ROWS] = 8,
		[CUBLASLT_MATRIX_LAYOUT_COLS] = 8,
		[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 4,
		[CUBLASLT_MATRIX_LAYOUT_BATCH_MODE] = 4,
	};

	return set(layout, offsets, sizes, ATTRIBUTES, attribute, value, size);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, size_t size,
					       cublasComputeType_t compute, cudaDataType_t scale)
{
	uint32_t fill_mode = FILL_FULL, epilogue = EPILOGUE_NO;

	if (size < sizeof(*operation))
		return INVALID;
	memset(operation, 0, sizeof(*operation));
	put(operation, COMPUTE, &compute, sizeof(compute));
	put(operation, SCALE, &scale, sizeof(scale));
	put(operation, FILL_MODE, &fill_mode, sizeof(fill_mode));
	put(operation, EPILOGUE, &epilogue, sizeof(epilogue));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
					      cublasLtMatmulDescAttributes_t attribute,
					      const void *value, size_t size)
{
	static const size_t offsets[ATTRIBUTES] = {
		[CUBLASLT_MATMUL_DESC_TRANSA] = TRANSFORM_A,
		[CUBLASLT_MATMUL_DESC_TRANSB] = TRANSFORM_B,
	};
	static const size_t sizes[ATTRIBUTES] = {
		[CUBLASLT_MATMUL_DESC_TRANSA] = 4,
		[CUBLASLT_MATMUL_DESC_TRANSB] = 4,
	};

	return set(operation, offsets, sizes, ATTRIBUTES, attribute, value, size);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
			      const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc,
			      const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta,
			      const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
			      cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo,
			      void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
	int argument = 0;
	void *arguments[] = {&argument};

	/* Not when it is loaded: the real one is loaded without CUDA's runtime, too. */
	if (!is_registered)
		__cudaRegisterFunction(NULL, &kernel_stub, NULL, "nvjet_sm90_tst_128x64_bias", -1,
				       NULL, NULL, NULL, NULL, NULL);
	is_registered = true;
	return cudaLaunchKernel(&kernel_stub, (dim3){64, 1, 1}, (dim3){128, 1, 1}, arguments, 0,
				stream)
		       ? CUBLAS_STATUS_EXECUTION_FAILED
		       : CUBLAS_STATUS_SUCCESS;
}
