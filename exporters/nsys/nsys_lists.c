/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/nsys/nsys_lists.h"

#include <stdlib.h>

#include "base/array.h"

u64 nsys_list_note(struct nsys_list *list, u64 key_a, u64 key_b, const struct nsys_item *item)
{
	const u64 *there = map_find(&list->numbers, key_a, key_b);

	if (there)
		return *there;
	if (array_reserve(&list->items, &list->capacity, list->count + 1) < 0 ||
	    map_set(&list->numbers, key_a, key_b, list->count + 1) < 0)
		return 0;
	list->items[list->count++] = *item;
	return list->count;
}

void nsys_list_free(struct nsys_list *list)
{
	map_free(&list->numbers);
	free(list->items);
}
