/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack of an event as one of its stats: the names of its functions, innermost first. Of a call of CUDA and of what was launched it is that of
 * the launch, with the program's own function ("launched by") and its line ("source"). A string that several events share is in the file once.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_STACKS_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_STACKS_H

#include "base/map.h"
#include "exporters/xplane/xplane_plane.h"
#include "view/view.h"

/* Zero-initialise but for the view. */
struct xplane_stacks {
	const struct view *view;
	struct map
		references; /* (plane, process and stack) -> number of the string in the plane; 0: it has no room for more */
	struct map codes;  /* (process and stack, waiting stack and kernel) -> a number of it */
	struct map places; /* (plane, that number) -> place in sources */
	struct xplane_source *sources;
	size_t source_count, source_capacity;
};

/* Nothing of an event without a stack. 0 or -ENOMEM. */
int xplane_stacks_add(struct xplane_stacks *stacks, const struct view_event *event,
		      struct xplane_plane *plane, struct xplane_event *ret_event);
/* "file:line" of the program's own code that launched it, as the stats say; NULL: none is known. It stays the plane's. 0 or -ENOMEM. */
int xplane_stacks_source(struct xplane_stacks *stacks, const struct view_event *event, struct xplane_plane *plane,
			 const char **ret_source);
void xplane_stacks_free(struct xplane_stacks *stacks);

#endif
