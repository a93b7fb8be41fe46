/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lanes: a span goes to the first lane of its row in which it nests, i.e. in which what is still
 * open lasts at least as long; on rows where nothing nests (work of a GPU does not call other work),
 * to the first lane that is free. Spans come in time order, so a lane is a stack of the ends of its
 * open spans.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "view/view_parts.h"

struct lane {
	u64 *ends; /* innermost last */
	size_t count;
	size_t capacity;
};

struct lane_row {
	struct lane *lanes;
	size_t count;
	size_t capacity;
};

static int lanes_reach(struct view_lanes *lanes, size_t row)
{
	if (array_reserve(&lanes->rows, &lanes->row_capacity, row + 1) < 0)
		return -ENOMEM;
	while (lanes->row_count <= row)
		lanes->rows[lanes->row_count++] = (struct lane_row){0};
	return 0;
}

/* Ends what is over at ts; does a span that ends at `end` nest in what is left? */
static bool lane_fits(struct lane *lane, bool nest, u64 ts, u64 end)
{
	while (lane->count && lane->ends[lane->count - 1] <= ts)
		lane->count--;
	return !lane->count || (nest && lane->ends[lane->count - 1] >= end);
}

int view_lanes_place(struct view_lanes *lanes, size_t row, bool nest, u64 ts, u64 end,
		     unsigned *ret_lane, unsigned *ret_depth)
{
	struct lane_row *lane_row;
	struct lane *lane;
	size_t place = 0;

	if (row >= lanes->row_count && lanes_reach(lanes, row) < 0)
		return -ENOMEM;
	lane_row = &lanes->rows[row];
	while (place < lane_row->count && !lane_fits(&lane_row->lanes[place], nest, ts, end))
		place++;
	if (place == LANES_MAX) {
		*ret_lane = place - 1;
		*ret_depth = lane_row->lanes[place - 1].count;
		return 0;
	}
	if (place == lane_row->count) {
		if (array_reserve(&lane_row->lanes, &lane_row->capacity, place + 1) < 0)
			return -ENOMEM;
		lane_row->lanes[lane_row->count++] = (struct lane){0};
	}
	lane = &lane_row->lanes[place];
	if (array_reserve(&lane->ends, &lane->capacity, lane->count + 1) < 0)
		return -ENOMEM;
	*ret_lane = place;
	*ret_depth = lane->count;
	lane->ends[lane->count++] = end;
	return 0;
}

unsigned view_lanes_count(const struct view_lanes *lanes, size_t row)
{
	if (row >= lanes->row_count || !lanes->rows[row].count)
		return 1;
	return lanes->rows[row].count;
}

void view_lanes_free(struct view_lanes *lanes)
{
	for (size_t i = 0; i < lanes->row_count; i++) {
		for (size_t j = 0; j < lanes->rows[i].count; j++)
			free(lanes->rows[i].lanes[j].ends);
		free(lanes->rows[i].lanes);
	}
	free(lanes->rows);
	*lanes = (struct view_lanes){0};
}
