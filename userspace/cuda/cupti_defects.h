/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a version of CUPTI is known to do wrong that recordings show: userspace/cuda/cupti_defects.def. */
#ifndef GPUPROBE_CUDA_CUPTI_DEFECTS_H
#define GPUPROBE_CUDA_CUPTI_DEFECTS_H

#include <stddef.h>

#include "base/types.h"

struct cupti_defect {
	u32 since, below; /* numbers of cuptiGetVersion */
	const char *mended; /* in which release */
	const char *what, *words;
};

/* The next one of this version behind `after`, NULL: the first. NULL: there is none. */
const struct cupti_defect *cupti_defect_next(u32 version, const struct cupti_defect *after);

#endif
