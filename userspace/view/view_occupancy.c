/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Occupancy of kernels, worked out once for each of their shapes: most of them come again and again. */
#include <errno.h>
#include <stdlib.h>

#include "view/view_parts.h"

#define SHAPES 256 /* a power of two */

/* All that occupancy_of() reads of a kernel. */
struct shape {
	const struct record_device *device;
	u32 grid[3], block[3];
	u32 registers, static_bytes, dynamic_bytes;
};

struct view_occupancies {
	struct known_shape {
		struct shape shape; /* without device: none is here */
		struct occupancy occupancy;
		bool is_known; /* the occupancy; false: it cannot be worked out */
	} shapes[SHAPES];
};

static bool is_shape(const struct shape *shape, const struct record_kernel *kernel,
		     const struct record_device *device)
{
	for (unsigned i = 0; i < 3; i++)
		if (shape->grid[i] != kernel->grid[i] || shape->block[i] != kernel->block[i])
			return false;
	return shape->device == device && shape->registers == kernel->registers_per_thread &&
	       shape->static_bytes == kernel->static_shared_memory_bytes &&
	       shape->dynamic_bytes == kernel->dynamic_shared_memory_bytes;
}

static struct shape shape_of(const struct record_kernel *kernel, const struct record_device *device)
{
	return (struct shape){
		.device = device,
		.grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
		.block = {kernel->block[0], kernel->block[1], kernel->block[2]},
		.registers = kernel->registers_per_thread,
		.static_bytes = kernel->static_shared_memory_bytes,
		.dynamic_bytes = kernel->dynamic_shared_memory_bytes,
	};
}

/* By what tells kernels apart most. */
static size_t place_of(const struct record_kernel *kernel)
{
	u64 numbers = (u64)kernel->grid[0] << 32 ^ (u64)kernel->grid[1] << 16 ^ kernel->grid[2] ^
		      (u64)kernel->block[0] << 40 ^ (u64)kernel->registers_per_thread << 8 ^
		      kernel->dynamic_shared_memory_bytes;

	return numbers * 0x9e3779b97f4a7c15ULL >> 32 & (SHAPES - 1);
}

int view_occupancies_init(struct view *view)
{
	view->occupancies = calloc(1, sizeof(*view->occupancies));
	return view->occupancies ? 0 : -ENOMEM;
}

bool view_occupancy(const struct view *view, const struct record_kernel *kernel,
		    struct occupancy *ret_occupancy)
{
	const struct record_header *fact = view_fact(view, KIND_device, kernel->device);
	const struct record_device *device = (const struct record_device *)fact;
	struct known_shape *known = &view->occupancies->shapes[place_of(kernel)];

	if (!device)
		return false;
	if (!is_shape(&known->shape, kernel, device)) {
		known->shape = shape_of(kernel, device);
		known->is_known = occupancy_of(kernel, device, &known->occupancy);
	}
	if (!known->is_known)
		return false;
	*ret_occupancy = known->occupancy;
	return true;
}
