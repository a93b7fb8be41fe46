/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a process that uses a GPU here can only mean one: told by NVIDIA's driver, without asking the process. */
#ifndef GPUPROBE_CUDA_ONLY_GPU_H
#define GPUPROBE_CUDA_ONLY_GPU_H

#include "base/types.h"

#define ONLY_GPU_FOLDER "/proc/driver/nvidia/gpus"

struct only_gpu {
	u32 number;    /* by which each process knows it: 0; ~0: there are several GPUs, or none is known */
	char name[64]; /* its model; "" where the driver does not say */
};

/* folder: ONLY_GPU_FOLDER, with a folder for each GPU that has a file "information". */
void only_gpu_read(const char *folder, struct only_gpu *ret_gpu);

#endif
