/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a run, kept to be given again without another one: for what is known only behind a run and needs little of its events. They lie in a
 * temporary file (base/spool.h). Paths are there as they were when an event came, up to the next run that is no part of this.
 */
#ifndef GPUPROBE_VIEW_VIEW_KEPT_H
#define GPUPROBE_VIEW_VIEW_KEPT_H

#include "view/view.h"

/* Spans and points. */
struct view_kept_kind {
	u16 kind;
	bool whole; /* its record; else the header alone */
};

struct view_kept;

/* kinds are the caller's, and end with a 0. NULL: no memory. */
struct view_kept *view_kept_new(struct view *view, const struct view_kept_kind *kinds);
/* For a sink's span(), point(), counter() and total(), with all that was recorded, of any kind: then paths are as they were. */
void view_kept_add(struct view_kept *kept, const struct view_event *event);
/*
 * Gives each part what a run would give it of these kinds, in the same order. Of events it has record, kind, times, name, row, stack; of causes ts,
 * row_index and that of within: the rest is 0. What could not be kept all parts are given by one run.
 */
int view_kept_run(struct view_kept *kept, const struct view_part *parts, size_t count, struct err *err);
void view_kept_free(struct view_kept *kept);

#endif
