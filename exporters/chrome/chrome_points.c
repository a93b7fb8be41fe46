/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/chrome/chrome_points.h"

#include <errno.h>
#include <stdlib.h>

static int find_further_row(struct chrome_points *points, struct chrome_rows *rows,
			    size_t row_index, struct chrome_place *place)
{
	const u64 *known = map_find(&points->rows, row_index, place->number);

	if (known) {
		place->tid = (u32)*known;
		return 0;
	}
	place->tid = chrome_rows_new_tid(rows);
	place->first = true;
	return map_set(&points->rows, row_index, place->number, place->tid);
}

int chrome_points_place(struct chrome_points *points, struct chrome_rows *rows,
			const struct view_event *event, struct chrome_place *ret_place)
{
	const struct chrome_lane *lane = chrome_rows_lane(rows, event->row_index, event->lane);
	struct chrome_pile *pile;

	*ret_place = (struct chrome_place){0};
	if (!lane)
		return 0; /* said by who writes its row */
	if (!points->piles) {
		points->piles = calloc(rows->survey->row_count, sizeof(*points->piles));
		if (!points->piles)
			return -ENOMEM;
	}
	pile = &points->piles[event->row_index];
	if (pile->ts != event->ts)
		*pile = (struct chrome_pile){.ts = event->ts};
	ret_place->pid = lane->pid;
	ret_place->number = pile->count++ / CHROME_POINTS_MAX;
	return ret_place->number ? find_further_row(points, rows, event->row_index, ret_place) : 0;
}

void chrome_points_append_name(const struct chrome_rows *rows, const struct view_event *event,
			       const struct chrome_place *place, struct text *text)
{
	struct text name _cleanup_text_ = {0};

	text_appendf(&name, "%s: more points of one moment",
		     event->row->type == ROW_PROCESS ? "process" : event->row->name);
	if (place->number > 1)
		text_appendf(&name, " (%llu)", (unsigned long long)place->number);
	chrome_rows_append_name(place->pid, place->tid, text_string(&name),
				rows->lane_count + place->number, text);
}

void chrome_points_free(struct chrome_points *points)
{
	free(points->piles);
	map_free(&points->rows);
}
