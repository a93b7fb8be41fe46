/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a process has Triton and PyTorch's inductor keep the kernels that they compile, by its environment. */
#ifndef GPUPROBE_PROCESS_GPU_CACHES_H
#define GPUPROBE_PROCESS_GPU_CACHES_H

#include "base/types.h"

/* Absolute paths, as the process sees them; NULL: not known. */
struct gpu_caches {
	char *triton;
	char *inductor;
	char *inductor_parent; /* of inductor's folder by its usual name, where inductor is NULL */
};

/* What was known stays where the environment can't be read: it has ended. Without memory less is known. */
void gpu_caches_read(int proc_fd, struct gpu_caches *caches);
/* environment: as in /proc/PID/environ, NUL behind each variable. */
void gpu_caches_find(const char *environment, size_t size, struct gpu_caches *ret_caches);
void gpu_caches_free(struct gpu_caches *caches);

#endif
