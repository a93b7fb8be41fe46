/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels that multiply matrices: which those are, by their names, and how many of them have no sizes. */
#ifndef GPUPROBE_VIEW_MATRIX_KERNELS_H
#define GPUPROBE_VIEW_MATRIX_KERNELS_H

#include "base/map.h"
#include "base/types.h"

enum matrix_work {
	MATRIX_WORK_NONE,
	MATRIX_WORK_PRODUCT,
	MATRIX_WORK_CONVOLUTION,
	MATRIX_WORK_ATTENTION,
	MATRIX_WORK_COUNT,
};

/* As its demangled name tells: matrix_kernels.def. */
enum matrix_work matrix_kernel_work(const char *name);

struct matrix_kernels {
	struct map known; /* address of a name -> its work */
	u64 unsized_count[MATRIX_WORK_COUNT], unsized_ns[MATRIX_WORK_COUNT];
	u64 ns; /* of all kernels */
};

/* Counts a kernel that has run for so long; name lives as long as these. 0 or -ENOMEM. */
int matrix_kernels_add(struct matrix_kernels *kernels, const char *name, u64 dur_ns,
		       bool has_sizes);
/* What these are, for people: "attention". */
const char *matrix_work_name(enum matrix_work work);
void matrix_kernels_free(struct matrix_kernels *kernels);

#endif
