/* Occupancy of kernels, worked out once for each of their shapes: most of them come again and again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/view_internal.h"

#define SHAPES 256 /* a power of two */

/* All that occupancy_of() reads of a kernel. */
struct shape {
	const struct record_device *device;
	u32 grid[3], block[3];
	u32 registers, static_bytes, dynamic_bytes;
	u32 unused; /* 0: shapes are compared as bytes */
};

struct view_occupancies {
	struct {
		struct shape shape;
		struct occupancy occupancy;
		bool known; /* the occupancy; false: it cannot be worked out, or no shape is here */
	} shapes[SHAPES];
};

static size_t place_of(const struct shape *shape)
{
	u64 words[sizeof(*shape) / sizeof(u64)], hash = 0;

	memcpy(words, shape, sizeof(words));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ULL;
	return hash >> 32 & (SHAPES - 1);
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
	struct shape shape = {
		.device = (const struct record_device *)fact,
		.registers = kernel->registers_per_thread,
		.static_bytes = kernel->static_shared_memory_bytes,
		.dynamic_bytes = kernel->dynamic_shared_memory_bytes,
	};
	size_t place;

	if (!fact)
		return false;
	memcpy(shape.grid, kernel->grid, sizeof(shape.grid));
	memcpy(shape.block, kernel->block, sizeof(shape.block));
	place = place_of(&shape);
	if (memcmp(&view->occupancies->shapes[place].shape, &shape, sizeof(shape)) != 0) {
		view->occupancies->shapes[place].shape = shape;
		view->occupancies->shapes[place].known = occupancy_of(
			kernel, shape.device, &view->occupancies->shapes[place].occupancy);
	}
	if (!view->occupancies->shapes[place].known)
		return false;
	*ret_occupancy = view->occupancies->shapes[place].occupancy;
	return true;
}
