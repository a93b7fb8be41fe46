/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What events of an SQLite export of Nsight Systems refer to by a number of ours: domains and categories of NVTX, call
 * stacks. It is noted when an event is bound; nsys_list_rows.h writes the rows behind all events.
 */
#ifndef GPUPROBE_EXPORTERS_NSYS_NSYS_LISTS_H
#define GPUPROBE_EXPORTERS_NSYS_NSYS_LISTS_H

#include "base/map.h"

enum nsys_list_type {
	NSYS_DOMAINS,
	NSYS_CATEGORIES,
	NSYS_CUDA_STACKS,
	NSYS_OSRT_STACKS,
	NSYS_SAMPLE_STACKS, /* one for each sample: readers look them up by its number */
	NSYS_LISTS,
};

struct nsys_item {
	u32 pid, tid; /* of the first event with it */
	u32 id;	      /* of the stack */
	const char *name;
	u32 category;
	u64 domain; /* its number */
};

struct nsys_list {
	struct map numbers; /* two keys -> place in items, plus 1 */
	struct nsys_item *items;
	size_t count, capacity;
};

/* The number of the item with these keys, from 1 on; noted if it is new. 0 without memory. */
u64 nsys_list_note(struct nsys_list *list, u64 key_a, u64 key_b, const struct nsys_item *item);
void nsys_list_free(struct nsys_list *list);

#endif
