/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NVIDIA's own libcupti, for tests that compare with it: the toolkit's ($CUDA_HOME, else /usr/local/cuda), else that of NVIDIA's
 * wheel, which scripts/deps.sh sim gets where there is no toolkit. Without a driver it answers what needs no GPU.
 */
#ifndef GPUPROBE_TESTS_REAL_CUPTI_H
#define GPUPROBE_TESTS_REAL_CUPTI_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define REAL_CUPTI_MISSING "no libcupti of a toolkit, nor by scripts/deps.sh sim"

/* A handle of dlopen, which is kept to the end of the program; NULL where there is none: SKIP(REAL_CUPTI_MISSING). */
static inline void *real_cupti_open(void)
{
	const char *toolkit = getenv("CUDA_HOME");
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/lib64/libcupti.so", toolkit ? toolkit : "/usr/local/cuda");
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return handle ? handle
		      : dlopen("build/sim/headers/nvidia/cu13/lib/libcupti.so.13",
			       RTLD_NOW | RTLD_LOCAL);
}

#endif
