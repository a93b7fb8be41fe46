/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/occupancy.h"

#include <math.h>

/* What the hardware hands out at once, by compute capability (the last row that is not newer holds): table
 * "Technical specifications" of the CUDA C++ programming guide. */
static const struct granularity {
	u32 major, minor;
	u32 partitions; /* of an SM, each with its share of the registers */
	u32 registers;	/* of a warp */
	u32 shared_memory_bytes;
	u32 reserved_bytes; /* shared memory that the system takes for each block */
} granularities[] = {
	{3, 0, 4, 256, 256, 0}, {6, 0, 2, 256, 256, 0},	   {6, 1, 4, 256, 256, 0},
	{7, 0, 4, 256, 256, 0}, {8, 0, 4, 256, 128, 1024},
};

static const struct granularity *granularity_of(const struct record_device *device)
{
	const struct granularity *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(granularities); i++) {
		const struct granularity *row = &granularities[i];

		if (device->compute_major > row->major ||
		    (device->compute_major == row->major && device->compute_minor >= row->minor))
			found = row;
	}
	return found;
}

static u64 product(const u32 *counts)
{
	u64 value = 1;

	for (unsigned i = 0; i < 3; i++)
		if (__builtin_mul_overflow(value, (u64)counts[i], &value))
			return 0;
	return value;
}

u64 kernel_blocks(const struct record_kernel *kernel)
{
	return product(kernel->grid);
}

u64 kernel_threads(const struct record_kernel *kernel)
{
	return product(kernel->block);
}

static u64 round_up(u64 value, u64 unit)
{
	return (value + unit - 1) / unit * unit;
}

/* All that is counted with is there, and small enough not to overflow. */
static bool is_known(const struct record_kernel *kernel, const struct record_device *device)
{
	u64 threads = kernel_threads(kernel);

	return kernel_blocks(kernel) && threads && threads <= 65536 &&
	       kernel->registers_per_thread <= 65536 && kernel->static_shared_memory_bytes != ~0U &&
	       kernel->dynamic_shared_memory_bytes != ~0U && device->compute_major &&
	       device->compute_minor != ~0U && device->multiprocessors &&
	       device->threads_per_warp && device->warps_per_multiprocessor &&
	       device->blocks_per_multiprocessor && device->registers_per_multiprocessor &&
	       device->shared_memory_per_multiprocessor_bytes;
}

static u64 registers_of_warp(const struct record_kernel *kernel, const struct record_device *device,
			     const struct granularity *granularity)
{
	return round_up((u64)kernel->registers_per_thread * device->threads_per_warp,
			granularity->registers);
}

static u32 limit_of_registers(const struct record_device *device,
			      const struct granularity *granularity, u64 of_warp, u32 warps)
{
	u64 of_partition = device->registers_per_multiprocessor / granularity->partitions;

	if (!of_warp)
		return ~0U;
	return of_partition / of_warp * granularity->partitions / warps;
}

static u64 shared_memory_of_block(const struct record_kernel *kernel,
				  const struct granularity *granularity)
{
	return round_up((u64)kernel->static_shared_memory_bytes +
				kernel->dynamic_shared_memory_bytes + granularity->reserved_bytes,
			granularity->shared_memory_bytes);
}

bool occupancy_of(const struct record_kernel *kernel, const struct record_device *device,
		  struct occupancy *ret_occupancy)
{
	const struct granularity *granularity = granularity_of(device);
	struct occupancy occupancy = {0};
	u64 of_warp, of_block;
	double blocks_there;
	u32 warps;

	if (!granularity || !is_known(kernel, device))
		return false;
	warps = round_up(kernel_threads(kernel), device->threads_per_warp) /
		device->threads_per_warp;
	occupancy.limits[LIMIT_WARPS] = device->warps_per_multiprocessor / warps;
	occupancy.limits[LIMIT_BLOCKS] = device->blocks_per_multiprocessor;
	of_warp = registers_of_warp(kernel, device, granularity);
	of_block = shared_memory_of_block(kernel, granularity);
	occupancy.block_registers = of_warp * warps;
	occupancy.block_shared_memory_bytes = of_block;
	occupancy.limits[LIMIT_REGISTERS] = limit_of_registers(device, granularity, of_warp, warps);
	occupancy.limits[LIMIT_SHARED_MEMORY] =
		of_block ? device->shared_memory_per_multiprocessor_bytes / of_block : ~0U;
	for (unsigned i = 0; i < LIMIT_COUNT; i++)
		if (occupancy.limits[i] < occupancy.limits[occupancy.limit])
			occupancy.limit = i;
	occupancy.blocks_per_multiprocessor = occupancy.limits[occupancy.limit];
	if (!occupancy.blocks_per_multiprocessor)
		return false;
	occupancy.theoretical = (double)occupancy.blocks_per_multiprocessor * warps /
				device->warps_per_multiprocessor;
	blocks_there = fmin(occupancy.blocks_per_multiprocessor,
			    (double)kernel_blocks(kernel) / device->multiprocessors);
	occupancy.estimate = fmin(
		1, blocks_there * (double)kernel_threads(kernel) /
			   ((double)device->warps_per_multiprocessor * device->threads_per_warp));
	*ret_occupancy = occupancy;
	return true;
}
