/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorted addresses. */
#ifndef GPUPROBE_RESOLVE_ADDRESSES_H
#define GPUPROBE_RESOLVE_ADDRESSES_H

#include "base/types.h"

/* The place of the first that is not below start; count: none. */
static inline size_t addresses_from(const u64 *addresses, size_t count, u64 start)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
