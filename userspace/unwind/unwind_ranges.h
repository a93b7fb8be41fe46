/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which places of the BPF programs' mappings (bpf/unwind_maps.h) are taken, range by range. Who uses a range is known to them alone, since
 * children inherit those of their parents: what nobody uses is found by asking for all that are used, and is free a moment later.
 */
#ifndef GPUPROBE_UNWIND_UNWIND_RANGES_H
#define GPUPROBE_UNWIND_UNWIND_RANGES_H

#include <stddef.h>

#include "base/types.h"

enum unwind_range_state {
	UNWIND_RANGE_FREE,
	UNWIND_RANGE_TAKEN,
	UNWIND_RANGE_DROPPED, /* nobody is led to it any more, but who was may be in it */
};

struct unwind_range {
	u32 first, count;
	enum unwind_range_state state;
};

/* Zero-initialise but for max. */
struct unwind_ranges {
	struct unwind_range *items; /* by place, without gaps */
	size_t count, capacity;
	u32 end; /* of the last one */
	u32 max;
};

/* The lowest place where so many are free. -ENOSPC, -ENOMEM. */
int unwind_ranges_take(struct unwind_ranges *ranges, u32 count, u32 *ret_first);
/* All taken ranges that are not among those that are used (by their first places, sorted) are dropped. So many are now. */
size_t unwind_ranges_drop(struct unwind_ranges *ranges, const u32 *used, size_t used_count);
/* All that are dropped are free. */
void unwind_ranges_reclaim(struct unwind_ranges *ranges);
void unwind_ranges_free(struct unwind_ranges *ranges);

#endif
