/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why GPUs were idle, in an XPlane: a line of each GPU in the plane of the host, in front of those of threads, which say what led to it. On a line of a
 * GPU's plane XProf would count the slices as work (docs/formats/xplane.md#why-gpus-were-idle).
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_IDLE_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_IDLE_H

#include "exporters/idle_slices.h"
#include "exporters/xplane/xplane_messages.h"
#include "exporters/xplane/xplane_rows.h"

/* Zero-initialise. */
struct xplane_idle {
	struct idle_slices slices;
	struct xplane_place *places; /* of each GPU of them */
	bool no_room; /* for them in a temporary file: they are left out */
};

/* For a sink's open(), behind xplane_steps_find(), which shares a run over the events with it: adds the lines. xplane_idle_free() after a failure too. */
int xplane_idle_find(struct xplane_idle *idle, const struct view *view, struct xplane_rows *rows, struct err *err);
/* All slices: where no other event goes to their lines they may come at the end. Without room for them there are none, which the other says. */
int xplane_idle_write(struct xplane_idle *idle, struct xplane_rows *rows, struct spool_store *store, struct err *err);
int xplane_idle_tell(const struct xplane_idle *idle, struct xplane_message_list *warnings);
/* Behind the files: names of threads are references to its own. Before the view's end. */
void xplane_idle_free(struct xplane_idle *idle);

#endif
