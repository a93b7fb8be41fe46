/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/gpu_places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

static s64 find(struct gpu_places *places, const struct view *view, u32 device)
{
	const u64 *known = map_find(&places->places, device, 0);
	const struct record_header *fact;
	size_t place = 0;

	if (known)
		return (s64)*known;
	fact = view_fact(view, KIND_device, device);
	while (place < places->count &&
	       !view_is_same_gpu(fact, view_fact(view, KIND_device, places->devices[place])))
		place++;
	if (array_reserve(&places->devices, &places->capacity, places->count + 1) < 0 ||
	    map_set(&places->places, device, 0, place) < 0)
		return -ENOMEM;
	if (place == places->count)
		places->devices[places->count++] = device;
	return (s64)place;
}

s64 gpu_places_of(struct gpu_places *places, const struct view *view, u32 device)
{
	s64 place;

	if (places->last_place_plus_1 && places->last == device)
		return (s64)places->last_place_plus_1 - 1;
	place = find(places, view, device);
	if (place >= 0) {
		places->last = device;
		places->last_place_plus_1 = (size_t)place + 1;
	}
	return place;
}

void gpu_places_free(struct gpu_places *places)
{
	map_free(&places->places);
	free(places->devices);
	*places = (struct gpu_places){0};
}
