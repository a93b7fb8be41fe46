/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns for the functions of gpu_catalogue.def. */
#ifndef GPUPROBE_PLAN_GPU_CATALOGUE_H
#define GPUPROBE_PLAN_GPU_CATALOGUE_H

#include "base/types.h"
#include "plan/plan.h"

enum gpu_catalogue_part {
	GPU_CATALOGUE_API = 1,	  /* CUDA driver and runtime */
	GPU_CATALOGUE_BEYOND = 2, /* cuBLAS, cuDNN, NCCL */
	GPU_CATALOGUE_LAUNCHES = 4, /* of the driver's what launches, copies, sets, allocates or waits, at any level */
};

/* Those of these parts up to this level, as -F would name them. ret_patterns: NULL only counts them; the strings
 * live for ever. How many. */
size_t gpu_catalogue_patterns(unsigned parts, u64 level, const char **ret_patterns);
/* Did these patterns switch it on as one of GPU_CATALOGUE_API? */
bool plan_is_api(const struct plan *plan, const struct plan_function *function);
bool plan_has_api(const struct plan *plan);

#endif
