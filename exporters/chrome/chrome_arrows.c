/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/chrome/chrome_arrows.h"

#include <errno.h>

/* Readers keep numbers as doubles: exact below 2^53, and correlations are below this. */
#define FURTHER_FROM (1ULL << 52)

/* ---- sets of numbers that lie close to one another ---- */

/* 1: it is in now, 0: it was, or -ENOMEM. */
static int set_add(struct map *set, u64 number)
{
	const u64 *bits = map_find(set, number / 64, 0);
	u64 before = bits ? *bits : 0, bit = 1ULL << number % 64;

	if (before & bit)
		return 0;
	return map_set(set, number / 64, 0, before | bit) < 0 ? -ENOMEM : 1;
}

/* Was it in? */
static bool set_remove(struct map *set, u64 number)
{
	u64 *bits = map_find(set, number / 64, 0), bit = 1ULL << number % 64;

	if (!bits || !(*bits & bit))
		return false;
	*bits &= ~bit;
	if (!*bits)
		map_remove(set, number / 64, 0);
	return true;
}

/* ---- arrows ---- */

int chrome_arrows_start(struct chrome_arrows *arrows, const struct view_event *event,
			bool *ret_named, u64 *ret_further)
{
	u64 further = FURTHER_FROM + arrows->further_count, more;
	int named = set_add(&arrows->used, view_unique_correlation(arrows->view, event));

	if (named < 0 || (named && set_add(&arrows->pending, event->launch) < 0))
		return -ENOMEM;
	more = event->effect_count - named;
	if (more && map_set(&arrows->further, event->launch, 0, further) < 0)
		return -ENOMEM;
	arrows->further_count += more;
	*ret_named = named;
	*ret_further = further;
	return 0;
}

u64 chrome_arrows_end(struct chrome_arrows *arrows, const struct view_event *event)
{
	u64 *further;

	if (set_remove(&arrows->pending, event->cause->number))
		return view_unique_correlation(arrows->view, event);
	further = map_find(&arrows->further, event->cause->number, 0);
	return further ? (*further)++ : 0;
}

void chrome_arrows_free(struct chrome_arrows *arrows)
{
	map_free(&arrows->used);
	map_free(&arrows->pending);
	map_free(&arrows->further);
}
