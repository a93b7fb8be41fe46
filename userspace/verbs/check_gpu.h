/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The GPU side of what check prints. */
#ifndef GPUPROBE_VERBS_CHECK_GPU_H
#define GPUPROBE_VERBS_CHECK_GPU_H

#include "base/text.h"
#include "options/options.h"
#include "recording/attachment.h"

/* What would be done in each target that uses CUDA, and why not. Looks at the targets' threads, touches nothing. */
void check_gpu_append(const struct options *options, const struct attachment *attachment, struct text *text);

#endif
