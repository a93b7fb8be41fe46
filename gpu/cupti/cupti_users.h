/* SPDX-License-Identifier: MIT */
/*
 * Who else may use CUPTI in the target: by the names of what is mapped (cupti_users.def), and by who is linked with
 * libcupti. A library that loads CUPTI only when it is asked to profile, and whose name is not known here, is not seen.
 */
#ifndef GPUPROBE_GPU_CUPTI_USERS_H
#define GPUPROBE_GPU_CUPTI_USERS_H

#include "../base/loader.h"

struct cupti_users {
	bool kineto; /* PyTorch's profiler may come */
	bool others; /* somebody else may */
	const char *who, *way_out; /* the first that is known by name, and how to have it give CUPTI back; NULL: nobody */
	const char *keeper; /* why CUPTI must not be taken down here, in words that follow "it"; NULL: it may be */
};

/* Takes the loader's lock. */
void cupti_users_find(struct cupti_users *users);

#endif
