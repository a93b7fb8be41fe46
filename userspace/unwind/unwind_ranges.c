/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Takes the first places of a free range. */
static void split(struct unwind_ranges *ranges, size_t index, u32 count)
{
	struct unwind_range *range = &ranges->items[index];

	if (range->count > count) {
		memmove(range + 1, range, (ranges->count - index) * sizeof(*range));
		ranges->count++;
		range[1].first += count;
		range[1].count -= count;
		range->count = count;
	}
	range->state = UNWIND_RANGE_TAKEN;
}

int unwind_ranges_take(struct unwind_ranges *ranges, u32 count, u32 *ret_first)
{
	if (array_reserve(&ranges->items, &ranges->capacity, ranges->count + 1))
		return -ENOMEM;
	for (size_t i = 0; i < ranges->count; i++) {
		struct unwind_range *range = &ranges->items[i];

		if (range->state != UNWIND_RANGE_FREE || range->count < count)
			continue;
		*ret_first = range->first;
		split(ranges, i, count);
		return 0;
	}
	if (count > ranges->max - ranges->end)
		return -ENOSPC;
	ranges->items[ranges->count++] =
		(struct unwind_range){ranges->end, count, UNWIND_RANGE_TAKEN};
	*ret_first = ranges->end;
	ranges->end += count;
	return 0;
}

size_t unwind_ranges_drop(struct unwind_ranges *ranges, const u32 *used, size_t used_count)
{
	size_t dropped = 0, at = 0;

	for (size_t i = 0; i < ranges->count; i++) {
		struct unwind_range *range = &ranges->items[i];

		while (at < used_count && used[at] < range->first)
			at++;
		if (range->state == UNWIND_RANGE_TAKEN &&
		    (at == used_count || used[at] != range->first))
			range->state = UNWIND_RANGE_DROPPED;
		dropped += range->state == UNWIND_RANGE_DROPPED;
	}
	return dropped;
}

void unwind_ranges_reclaim(struct unwind_ranges *ranges)
{
	size_t kept = 0;

	for (size_t i = 0; i < ranges->count; i++) {
		struct unwind_range range = ranges->items[i];
		struct unwind_range *last = kept ? &ranges->items[kept - 1] : NULL;

		if (range.state == UNWIND_RANGE_DROPPED)
			range.state = UNWIND_RANGE_FREE;
		if (last && last->state == UNWIND_RANGE_FREE && range.state == UNWIND_RANGE_FREE)
			last->count += range.count;
		else
			ranges->items[kept++] = range;
	}
	ranges->count = kept;
	if (kept && ranges->items[kept - 1].state == UNWIND_RANGE_FREE)
		ranges->end = ranges->items[--ranges->count].first;
}

void unwind_ranges_free(struct unwind_ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct unwind_ranges){0};
}
