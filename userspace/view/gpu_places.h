/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GPUs as dense numbers: processes know one GPU by ids of their own, its uuid says that it is the same. */
#ifndef GPUPROBE_VIEW_GPU_PLACES_H
#define GPUPROBE_VIEW_GPU_PLACES_H

#include "base/map.h"
#include "view/view.h"

/* Zero-initialise it. */
struct gpu_places {
	struct map places; /* id of a device -> place in devices */
	u32 *devices;	   /* id of the first fact of each */
	size_t count, capacity;
	u32 last;	   /* id of the device that was asked for last, */
	size_t last_place_plus_1; /* 0: none was */
};

/* 0, 1, 2, ... in the order of their first appearance, or -ENOMEM. */
s64 gpu_places_of(struct gpu_places *places, const struct view *view, u32 device);
void gpu_places_free(struct gpu_places *places);

#endif
