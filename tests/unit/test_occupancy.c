/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures that CUDA's occupancy calculator gives for these kernels. */
#include <math.h>

#include "unit.h"
#include "view/occupancy.h"

static const struct record_device h200 = {
	.compute_major = 9,
	.compute_minor = 0,
	.multiprocessors = 132,
	.threads_per_warp = 32,
	.warps_per_multiprocessor = 64,
	.blocks_per_multiprocessor = 32,
	.shared_memory_per_multiprocessor_bytes = 233472,
	.registers_per_multiprocessor = 65536,
};

static struct record_kernel make_kernel(u32 blocks, u32 threads, u32 registers, u32 shared_bytes)
{
	return (struct record_kernel){
		.grid = {blocks, 1, 1},
		.block = {threads, 1, 1},
		.registers_per_thread = registers,
		.dynamic_shared_memory_bytes = shared_bytes,
	};
}

TEST(the_first_limit_that_is_reached_decides)
{
	static const struct {
		u32 threads, registers, shared_bytes;
		u32 blocks;
		enum occupancy_limit limit;
		double percent;
	} rows[] = {
		{256, 32, 0, 8, LIMIT_WARPS, 100},
		{256, 40, 0, 6, LIMIT_REGISTERS, 75},
		{256, 128, 0, 2, LIMIT_REGISTERS, 25},
		{1024, 64, 0, 1, LIMIT_REGISTERS, 50},
		{32, 16, 0, 32, LIMIT_BLOCKS, 50},
		/* 1 KiB of each block is the system's. */
		{256, 32, 99 * 1024, 2, LIMIT_SHARED_MEMORY, 25},
		{128, 32, 227 * 1024, 1, LIMIT_SHARED_MEMORY, 6.25},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct record_kernel kernel = make_kernel(
			100000, rows[i].threads, rows[i].registers, rows[i].shared_bytes);
		struct occupancy occupancy;

		CHECK(occupancy_of(&kernel, &h200, &occupancy));
		CHECK_U64(occupancy.blocks_per_multiprocessor, rows[i].blocks);
		CHECK_U64(occupancy.limit, rows[i].limit);
		CHECK(fabs(100 * occupancy.theoretical - rows[i].percent) < 1e-9);
		CHECK(fabs(occupancy.estimate - occupancy.theoretical) < 1e-9);
	}
}

TEST(a_small_grid_does_not_fill_the_gpu)
{
	const struct record_kernel kernel = make_kernel(132, 256, 32, 0);
	struct occupancy occupancy;

	CHECK(occupancy_of(&kernel, &h200, &occupancy));
	CHECK(fabs(occupancy.theoretical - 1) < 1e-9);
	CHECK(fabs(occupancy.estimate - 0.125) < 1e-9);
}

TEST(without_the_figures_there_is_no_occupancy)
{
	struct record_kernel kernel = make_kernel(1, 256, 32, 0);
	struct record_device device = h200;
	struct occupancy occupancy;

	device.multiprocessors = 0;
	CHECK(!occupancy_of(&kernel, &device, &occupancy));
	kernel.registers_per_thread = ~0U;
	CHECK(!occupancy_of(&kernel, &h200, &occupancy));
	kernel = make_kernel(0, 256, 32, 0);
	CHECK(!occupancy_of(&kernel, &h200, &occupancy));
	/* More than an SM has. */
	kernel = make_kernel(1, 256, 32, 233472);
	CHECK(!occupancy_of(&kernel, &h200, &occupancy));
	kernel = make_kernel(~0U, ~0U, ~0U - 1, ~0U - 1);
	CHECK(!occupancy_of(&kernel, &h200, &occupancy));
}

UNIT_MAIN()
