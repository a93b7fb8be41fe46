/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a function of a library that multiplies matrices has their sizes: a row of plan/matmuls.def, for the program that
 * stands on it. Included by both; the includer provides the integer names.
 *
 * What names an argument is its number from 1 on; 0: it has none.
 */
#ifndef GPUPROBE_BPF_MATMUL_H
#define GPUPROBE_BPF_MATMUL_H

#define MATMUL_REGISTER_ARGUMENTS 6
#define MATMUL_STACK_ARGUMENTS	  16 /* a power of two */
#define MATMUL_ARGUMENTS_MAX	  (MATMUL_REGISTER_ARGUMENTS + MATMUL_STACK_ARGUMENTS)

struct matmul_arguments {
	u8 m, n, k;    /* 0: it is 1 */
	u8 batch;      /* how many products; 0: one */
	u8 transposed; /* if this argument is not 0, m and k change places */
	u8 is_wide;    /* sizes are 64-bit */
	u8 on_stack;   /* of those on the stack the first so many have to be read */
	u8 type_at[3]; /* of the elements of A, B, C, as CUDA numbers types; 0: always */
	u8 type[3];    /* VALUE_data_type_* of record.def */
	/* The addresses of objects that say all that, and nothing of the above does; 0: there are none. */
	u8 operation, layout_a, layout_b, layout_d;
};

/*
 * What is read of the objects of libcublasLt, whose structure its headers don't tell: of which versions this is known, and
 * how, says docs/formats/cublaslt.md. Both begin where the object does.
 */
struct cublaslt_operation { /* cublasLtMatmulDesc_t */
	u64 other;
	s32 compute_type, scale_type, pointer_mode, transform_a, transform_b;
} __attribute__((packed));

struct cublaslt_layout { /* cublasLtMatrixLayout_t */
	s32 type, order;
	u64 rows, columns;
	s64 leading_dimension;
	s32 batch;
	u16 batch_mode;
} __attribute__((packed));

/* cublasOperation_t */
#define CUBLASLT_TRANSFORM_NONE		       0
#define CUBLASLT_TRANSFORM_TRANSPOSE	       1
#define CUBLASLT_TRANSFORM_CONJUGATE_TRANSPOSE 2
#define CUBLASLT_TRANSFORM_CONJUGATE	       3
/* cublasLtBatchMode_t: matrices of different sizes, which stand in the memory of the GPU. */
#define CUBLASLT_BATCH_MODE_GROUPED 2

#endif
