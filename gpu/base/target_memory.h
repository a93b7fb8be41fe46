/* SPDX-License-Identifier: MIT */
/* Memory as any code of the target may free it: who else uses CUPTI may be handed a buffer of ours. */
#ifndef GPUPROBE_GPU_TARGET_MEMORY_H
#define GPUPROBE_GPU_TARGET_MEMORY_H

#include "types.h"

/* 8-aligned; NULL: there is none. Of the target's allocator, which may take locks: on the agent's thread, or where CUPTI can't be
 * left without. */
u8 *target_memory_allocate(size_t bytes);
void target_memory_free(u8 *memory);

#endif
