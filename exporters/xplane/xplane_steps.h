/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps in an XPlane: root events (_r) on the line of the thread that launches them, by which XProf groups what happens
 * in them, and a line "Step spans (overlay)" on each GPU, which says how long a step took there. XProf knows one sequence of steps
 * a file: that of the process's main track (steps/view_steps.h).
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_STEPS_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_STEPS_H

#include "exporters/xplane/xplane_messages.h"
#include "exporters/xplane/xplane_rows.h"
#include "steps/view_steps.h"

struct xplane_steps {
	const struct view *view;
	const struct view_steps *steps;
	struct xplane_rows *rows;
	struct spool_store *store;
	const struct view_step_track **tracks; /* of each space, NULL: none */
	size_t *next;			       /* of each space: the first step that is not written */
	s64 *stepless; /* of each space: the group of work that is in no step, 0: there was no work */
	bool *stepped; /* of each space: was the last work in a step? */
	u64 overlapping; /* steps without a span on a GPU: their work there began before that of the step before */
};

/* Finds why GPUs were idle, too, in a run that both need. rows and store must outlive it. Zero-initialise; xplane_steps_free() after a failure too. */
int xplane_steps_find(struct xplane_steps *steps, const struct view *view, struct xplane_rows *rows,
		      struct spool_store *store, struct err *err);
void xplane_steps_free(struct xplane_steps *steps);

/* Before an event goes to its line: writes the steps that begin up to then and are no spans of the capture. */
int xplane_steps_before(struct xplane_steps *steps, const struct view_event *event, struct err *err);
/* Marks the event as a root where it is a step, and work of a GPU with the step that launched it. */
int xplane_steps_mark(struct xplane_steps *steps, const struct view_event *event, struct xplane_plane *plane,
		      struct xplane_event *ret_event, struct err *err);
/* Behind all events: the rest of the steps, and those of the GPUs. */
int xplane_steps_close(struct xplane_steps *steps, struct err *err);
/* Then: the steps that XProf does not show, or not as they are. 0 or -ENOMEM. */
int xplane_steps_tell(const struct xplane_steps *steps, struct xplane_message_list *warnings);

#endif
