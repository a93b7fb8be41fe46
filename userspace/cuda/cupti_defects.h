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

/* All of them: the next one behind `after`, NULL: the first. NULL: there is none. */
const struct cupti_defect *cupti_defect_next(const struct cupti_defect *after);
/* Does this version of CUPTI have it? */
bool cupti_defect_has(const struct cupti_defect *defect, u32 version);

#endif
