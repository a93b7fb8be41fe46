/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_mostly.h"

#include <errno.h>

static u64 thread_of(const struct why_cause *cause)
{
	return (u64)cause->gpu << 32 | (u32)cause->row_index;
}

static u64 place_of(const struct why_cause *cause, u32 what)
{
	return (u64)(u32)cause->waiter << 32 | what;
}

static int add(struct map *sums, u64 first, u64 second, u64 more)
{
	u64 *known = map_find(sums, first, second);

	if (known)
		*known += more;
	return known ? 0 : map_set(sums, first, second, more);
}

int why_mostly_add(struct why_mostly *mostly, const struct why_cause *cause, u32 what, u64 samples)
{
	u64 thread = thread_of(cause);

	return add(&mostly->amounts, thread, place_of(cause, what), samples) ||
			       add(&mostly->amounts, thread, place_of(cause, WHY_MOSTLY_UNKNOWN),
				   samples)
		       ? -ENOMEM
		       : 0;
}

int why_mostly_add_time(struct why_mostly *mostly, const struct why_cause *cause, u64 ns)
{
	return add(&mostly->times, thread_of(cause), place_of(cause, 0), ns);
}

u32 why_mostly_find(const struct why_mostly *mostly, const struct why_cause *cause, u64 ns)
{
	u64 thread = thread_of(cause), all_place = place_of(cause, WHY_MOSTLY_UNKNOWN);
	const u64 *all = map_find(&mostly->amounts, thread, all_place);
	const u64 *sampled_ns = map_find(&mostly->times, thread, place_of(cause, 0));

	if (!all || !sampled_ns || ns > *sampled_ns)
		return WHY_MOSTLY_UNKNOWN;
	for (size_t i = 0; i < mostly->amounts.capacity; i++) {
		const struct map_slot *slot = &mostly->amounts.slots[i];

		if (slot->used && slot->key_a == thread && slot->key_b != all_place &&
		    slot->key_b >> 32 == all_place >> 32 && 2 * slot->value > *all)
			return (u32)slot->key_b;
	}
	return WHY_MOSTLY_UNKNOWN;
}

void why_mostly_free(struct why_mostly *mostly)
{
	map_free(&mostly->amounts);
	map_free(&mostly->times);
}
