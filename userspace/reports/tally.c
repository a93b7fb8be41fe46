/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/tally.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

int tally_add(struct tally *tally, u32 row, u32 thing, u64 amount)
{
	const u64 *known = map_find(&tally->known, row, thing);

	if (known) {
		tally->items[*known].amount += amount;
		return 0;
	}
	if (array_reserve(&tally->items, &tally->capacity, tally->count + 1) ||
	    map_set(&tally->known, row, thing, tally->count))
		return -ENOMEM;
	tally->items[tally->count++] =
		(struct tally_item){.row = row, .thing = thing, .amount = amount};
	return 0;
}

void tally_most(const struct tally *tally, u32 *ret_things, size_t row_count)
{
	for (size_t i = 0; i < row_count; i++)
		ret_things[i] = TALLY_NOTHING;
	for (size_t i = 0; i < tally->count; i++) {
		const struct tally_item *item = &tally->items[i];
		const u64 *best;

		if (item->row >= row_count)
			continue;
		best = map_find(&tally->known, item->row, ret_things[item->row]);
		if (!best || item->amount > tally->items[*best].amount)
			ret_things[item->row] = item->thing;
	}
}

void tally_free(struct tally *tally)
{
	map_free(&tally->known);
	free(tally->items);
}
