/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of where kernels are written that the targets compiled while they ran. */
#ifndef GPUPROBE_RECORDING_KERNELS_H
#define GPUPROBE_RECORDING_KERNELS_H

#include "base/clock.h"
#include "process/code_map.h"
#include "store/kernel_texts.h"

#define KERNELS_TIME_NS (3 * NS_PER_SECOND)

/* Adds them to batch, and to the ledger where not all was looked through. 0 or -ENOMEM. Takes that time at most. */
int kernels_put(const struct kernel_texts *kernels, const struct code_map *code, struct text_ids *texts, struct batch *batch);

#endif
