/* SPDX-License-Identifier: MIT */
/*
 * Signs of managed memory. CUPTI's counters of unified memory are not switched on before one is seen: their collector
 * sleeps until managed memory is first used, and until then switching them off takes 2 s (12.6 to 13.1).
 */
#ifndef GPUPROBE_GPU_CUPTI_MANAGED_H
#define GPUPROBE_GPU_CUPTI_MANAGED_H

#include "../base/types.h"

/* Does a record of CUPTI's tell that managed memory is allocated, copied or set? */
bool cupti_managed_sign(u32 kind, const u8 *activity, u32 bytes);

#endif
