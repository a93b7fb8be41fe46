/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of the arrows from what launched to what ran. Readers of Kineto's traces find the work of a call by the arrow whose number is
 * the call's args.correlation, and some keep one arrow for each start: so the first effect of a launch has the arrow with that
 * number, and each further one (a graph's) one of its own, with a number that no correlation is. An id that comes again numbers
 * the arrow of the first launch that had it.
 */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_ARROWS_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_ARROWS_H

#include "base/map.h"
#include "view/view.h"

/* Zero-initialise. */
struct chrome_arrows {
	const struct view *view;
	struct map used;    /* correlation / 64 -> bits of those that number an arrow */
	struct map pending; /* launch / 64 -> bits of those whose arrow of that number has not ended */
	struct map further; /* launch -> the number of its next further arrow */
	u64 further_count;
};

/* Of a launch: the numbers of the arrows that start at it, one for each effect: the first, if it has the correlation's number
 * (ret_named), and from *ret_further on. 0 or -ENOMEM. */
int chrome_arrows_start(struct chrome_arrows *arrows, const struct view_event *event,
			bool *ret_named, u64 *ret_further);
/* The number of the arrow that ends at an effect; 0: none has started. */
u64 chrome_arrows_end(struct chrome_arrows *arrows, const struct view_event *event);
void chrome_arrows_free(struct chrome_arrows *arrows);

#endif
