/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions with the names and declarations of cuBLAS, and entries of all kinds: cheap at the first instruction, behind a
 * frame, with arguments on the stack. It prints how often it called each.
 *
 *	multiplies ROUNDS
 */
#include <stdint.h>

#include "protocol.h"

static volatile int64_t sink;

/* Beside others a frame of its own, which the arguments on the stack lie above. */
#define FRAME(bytes)                  \
	volatile char frame[(bytes)]; \
	frame[0] = 1;                 \
	sink += frame[0]

PROBED int cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k,
			  const float *alpha, const float *A, int lda, const float *B, int ldb,
			  const float *beta, float *C, int ldc)
{
	sink += m + n + k + lda;
	return 0;
}

PROBED int cublasDgemm_v2_64(void *handle, int transa, int transb, int64_t m, int64_t n, int64_t k,
			     const double *alpha, const double *A, int64_t lda, const double *B,
			     int64_t ldb, const double *beta, double *C, int64_t ldc)
{
	FRAME(200);
	sink += m + n + k + lda;
	return 0;
}

PROBED int cublasGemmStridedBatchedEx(void *handle, int transa, int transb, int m, int n, int k,
				      const void *alpha, const void *A, int Atype, int lda,
				      long long strideA, const void *B, int Btype, int ldb,
				      long long strideB, const void *beta, void *C, int Ctype,
				      int ldc, long long strideC, int batchCount, int computeType,
				      int algo)
{
	FRAME(200);
	sink += m + n + k + batchCount + Atype + Btype + Ctype;
	return 0;
}

/* It begins with a push, and calls others. */
PROBED int cublasDgemmBatched(void *handle, int transa, int transb, int m, int n, int k,
			      const double *alpha, const double *const *A, int lda,
			      const double *const *B, int ldb, const double *beta, double *const *C,
			      int ldc, int batchCount)
{
	int status = cublasSgemm_v2(handle, transa, transb, m, n, k, 0, 0, lda, 0, ldb, 0, 0, ldc);

	sink += batchCount;
	return status;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	protocol_begin();
	for (int i = 0; i < rounds; i++) {
		cublasSgemm_v2(0, 1, 0, 128, 64, 256, 0, 0, 1, 0, 2, 0, 0, 3);
		cublasDgemm_v2_64(0, 1, 0, 1LL << 33, 2, -3, 0, 0, 1, 0, 2, 0, 0, 3);
		cublasGemmStridedBatchedEx(0, 1, 0, 21, 22, 23, 0, 0, 2, 1, 2, 0, 14, 3, 4, 0, 0, 0,
					   5, 6, 24, 68, -1);
		cublasDgemmBatched(0, 1, 0, 11, 12, 13, 0, 0, 1, 0, 2, 0, 0, 3, 14);
	}
	protocol_count("cublasSgemm_v2", 2 * rounds);
	protocol_count("cublasDgemm_v2_64", rounds);
	protocol_count("cublasGemmStridedBatchedEx", rounds);
	protocol_count("cublasDgemmBatched", rounds);
	protocol_end();
	return 0;
}
