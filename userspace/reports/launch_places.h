/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By which function and line of the program work of GPUs was launched, as strings with numbers. */
#ifndef GPUPROBE_REPORTS_LAUNCH_PLACES_H
#define GPUPROBE_REPORTS_LAUNCH_PLACES_H

#include "base/map.h"
#include "view/view.h"

#define LAUNCH_PLACE_NO_STACK "[no stack]"

/* Numbers of strings. */
struct launch_place {
	bool known;
	bool replays; /* a graph: what captured its nodes ran before */
	u32 name;   /* "consumer work.py:9", of a thread that waits for the one that launched it "step work.py:9 [waits here: AddmmBackward0 of forward (train.py:30)]" */
	u32 module; /* the file that it is from */
	u32 unit;   /* of Python the path of that, else the same; LAUNCH_PLACE_NO_STACK */
	u32 brief;  /* "consumer (work.py:12)", or with the module where no line is known */
	u32 file;   /* "/srv/work.py", "" where it is not known */
	u32 line;   /* "/srv/work.py:12", the same */
};

/* view: the caller's, set before the first is asked for; all else 0. */
struct launch_places {
	const struct view *view;
	struct map known; /* (process and stack, name) -> place in items */
	struct launch_place *items;
	size_t count, capacity;
	struct string_table strings;
};

/* Of work of a GPU; name is LAUNCH_PLACE_NO_STACK where its launch has none. 0 or -ENOMEM. */
int launch_places_of(struct launch_places *places, const struct view_event *event, struct launch_place *ret_place);
void launch_places_free(struct launch_places *places);

#endif
