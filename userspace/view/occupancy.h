/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How full a kernel can make the multiprocessors of a GPU, as CUDA's occupancy calculator counts: by warps,
 * blocks, registers and shared memory that one of its blocks takes.
 */
#ifndef GPUPROBE_VIEW_OCCUPANCY_H
#define GPUPROBE_VIEW_OCCUPANCY_H

#include "base/types.h"
#include "../bpf/record.h"

enum occupancy_limit { LIMIT_WARPS, LIMIT_BLOCKS, LIMIT_REGISTERS, LIMIT_SHARED_MEMORY, LIMIT_COUNT };

struct occupancy {
	u32 blocks_per_multiprocessor; /* that fit at once */
	u32 limits[LIMIT_COUNT]; /* how many would fit by each alone, ~0: any number */
	enum occupancy_limit limit; /* the first that is reached */
	u64 block_registers, block_shared_memory_bytes; /* what a block is given, rounded up as the hardware does */
	double theoretical; /* share of the warps that an SM can hold, 0 .. 1 */
	double estimate; /* the same, of a grid that may be too small to fill the GPU, on average */
};

/* False where a figure is missing that it depends on, or the kernel cannot run on that GPU. */
bool occupancy_of(const struct record_kernel *kernel, const struct record_device *device,
		  struct occupancy *ret_occupancy);

/* Blocks of the grid and threads of a block; 0 where they are not known (or do not fit 64 bits). */
u64 kernel_blocks(const struct record_kernel *kernel);
u64 kernel_threads(const struct record_kernel *kernel);

#endif
