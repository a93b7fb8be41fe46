/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which runtime of CUDA a process is linked with. nvcc puts the code for GPUs into a section of the program or library,
 * which registers it with its runtime when it is loaded, long before the driver is: such a file without a libcudart.so
 * beside it has the runtime linked statically. (A stripped program shows it by nothing else.)
 */
#ifndef GPUPROBE_CUDA_CUDA_RUNTIME_H
#define GPUPROBE_CUDA_CUDA_RUNTIME_H

#include "cuda/gpu_target.h"
#include "base/text.h"

struct cuda_runtime {
	char shared_path[256];	  /* libcudart.so; "": none */
	char device_code[256];	  /* the first program or library with code for GPUs; "": none */
	size_t device_code_count; /* of such files */
};

/* Reads the section tables of all files of code that the target maps: not for a recording's start. 0 or -errno. */
int cuda_runtime_find(const struct target *target, const struct gpu_target *gpu, struct cuda_runtime *ret_runtime,
		      struct err *err);
/* A line for check; none without a runtime. */
void cuda_runtime_append(const struct cuda_runtime *runtime, struct text *text);

#endif
