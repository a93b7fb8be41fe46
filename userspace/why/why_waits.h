/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For what a thread waits, by the name of the wait and by where in the code it is (why_waits.def). */
#ifndef GPUPROBE_WHY_WHY_WAITS_H
#define GPUPROBE_WHY_WHY_WAITS_H

#include "base/map.h"
#include "why/why.h"

/* Zero-initialise it. */
struct why_waits {
	struct map known; /* (process, stack) -> enum why_wait of the functions in it */
	struct map served; /* text of what is waited for -> is it one at which others are served? */
	bool has_served; /* all of them are in it of which anything is known */
	const char *plain; /* a name that says nothing of it: most waits in a row have one name, and the view has it once */
};

/* Of an off_cpu event. 0 or -ENOMEM. */
int why_waits_find(struct why_waits *waits, const struct view *view, const struct view_event *event, enum why_wait *ret_wait);
/* The same of one that none of the recorded threads wakes, behind that: is it for requests, or for another program? 0 or -ENOMEM. */
int why_waits_outside(struct why_waits *waits, const struct view *view, const struct view_event *event, enum why_wait *ret_wait);
/* Did it end since the time was over that the program gave it? A sleep is told by its name. */
bool why_waits_is_timed(const struct view_event *event);
const char *why_wait_words(enum why_wait wait);
void why_waits_free(struct why_waits *waits);

#endif
