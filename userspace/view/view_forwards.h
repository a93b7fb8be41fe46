/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of what code autograd does the backward pass, as ranges of PyTorch's emit_nvtx() tell (view_forwards.c). Only for the sources of this folder. */
#ifndef GPUPROBE_VIEW_VIEW_FORWARDS_H
#define GPUPROBE_VIEW_VIEW_FORWARDS_H

#include "base/map.h"
#include "view/view.h"

struct view_forwards {
	struct forward_row **rows; /* of threads; NULL: of one without such ranges */
	size_t row_capacity;
	struct forward_slot *slots; /* NULL: no range has had a number */
	bool has_losses;	    /* ranges are missing */
	struct map origins;	    /* (stack of who waits, of the forward pass) -> number */
};

void view_forwards_init(struct view_forwards *forwards, const struct view *view);
/* In a run, of each event in time order, before its cause is looked for; within: of an API call, forward_stack, forward_node and origin are filled in. 0 or
 * -ENOMEM. */
int view_forwards_add(struct view_forwards *forwards, const struct view_event *event,
		      struct view_within *within);
/* The same when its stack is known. */
void view_forwards_note_launch(struct view_forwards *forwards, const struct view_event *event);
void view_forwards_free(struct view_forwards *forwards);

#endif
