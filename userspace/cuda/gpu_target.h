/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /proc says of the GPU side of a process: which driver and tools it has mapped. Touches nothing.
 */
#ifndef GPUPROBE_CUDA_GPU_TARGET_H
#define GPUPROBE_CUDA_GPU_TARGET_H

#include "process/target.h"

struct gpu_target {
	bool cuda;		 /* libcuda.so is mapped: the process uses CUDA, or has begun to */
	char driver_path[256];	 /* as the target sees it */
	char driver_version[32]; /* "580.65.06" where the name of the file says it, else "" */
	char cupti_path[256];	 /* the first libcupti.so mapped; "": none */
	unsigned cupti_count;	 /* different ones: with two, one of them is blind */
	char runtime_path[256];	 /* libcudart.so; "": none, or linked statically */
	char other_tool[256];	 /* an injection library of another profiler that is mapped; "": none */
};

/* 0 or -errno (the process has ended, ...). */
int gpu_target_read(const struct target *target, struct gpu_target *ret_gpu, struct err *err);
/* Is a file of this path the driver? */
bool gpu_target_is_driver(const char *path);

#endif
