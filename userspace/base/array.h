/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow: the owner keeps pointer, count and capacity as plain members. */
#ifndef GPUPROBE_BASE_ARRAY_H
#define GPUPROBE_BASE_ARRAY_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/types.h"

/* Use array_reserve(). */
static inline int array_reserve_bytes(void **items, size_t *capacity, size_t needed, size_t item_bytes)
{
	size_t grown = *capacity ? *capacity : 16;
	void *moved;

	if (needed <= *capacity)
		return 0;
	while (grown < needed) {
		if (grown > SIZE_MAX / 2 / item_bytes)
			return -ENOMEM;
		grown *= 2;
	}
	moved = realloc(*items, grown * item_bytes);
	if (!moved)
		return -ENOMEM;
	*items = moved;
	*capacity = grown;
	return 0;
}

/* Makes room for `needed` items behind the pointer variable; 0 or -ENOMEM, then all is as it was. */
#define array_reserve(pointer, capacity, needed)                                                   \
	({                                                                                         \
		void *items_ = *(pointer);                                                         \
		int result_ =                                                                      \
			array_reserve_bytes(&items_, (capacity), (needed), sizeof(**(pointer)));   \
		*(pointer) = items_;                                                               \
		result_;                                                                           \
	})

/* For qsort() and bsearch() of numbers. */
static inline int array_compare_u64(const void *left, const void *right)
{
	u64 a = *(const u64 *)left, b = *(const u64 *)right;

	return a < b ? -1 : a > b;
}

#endif
