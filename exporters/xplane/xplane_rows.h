/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the rows of a view stand in XPlanes: a space (a file) for each process; in it a plane "/host:CPU" with a line
 * for each thread and "/device:GPU:N" with a line for each stream, and more lines where spans overlap without nesting.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_ROWS_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_ROWS_H

#include "exporters/xplane/xplane_plane.h"
#include "view/view.h"

/* The process that a file is of. */
struct xplane_space {
	u32 pid;
	const char *name; /* of the process; the survey's */
	size_t first_plane, plane_count; /* its host plane first */
	size_t idle_count;		 /* lines of xplane_rows_add_idle() */
	struct xplane_plane *metadata;	 /* "/host:metadata", NULL: none */
};

/* Where events of one row and lane go. */
struct xplane_place {
	size_t plane, line;
};

struct xplane_rows {
	const struct view_survey *survey;
	u64 start_ns, end_ns; /* of the profile: the window and all events */
	struct xplane_space *spaces;
	size_t space_count;
	struct xplane_plane *planes; /* those of a space together */
	size_t plane_count;
	size_t *first_place; /* of each row */
	struct xplane_place *places;
	size_t place_count;
};

/* survey must outlive rows. Zero-initialise; xplane_rows_free() after a failure too. There is always a space. */
int xplane_rows_make(struct xplane_rows *rows, const struct view *view, const struct view_survey *survey,
		     struct err *err);
void xplane_rows_free(struct xplane_rows *rows);

/* NULL for a row or lane that the survey has not. */
const struct xplane_place *xplane_rows_place(const struct xplane_rows *rows, size_t row_index, unsigned lane);
/* The line of the place's plane that holds counters. */
struct xplane_line *xplane_rows_counters(const struct xplane_rows *rows, const struct xplane_place *place);
/* Of a plane of the host: the line that holds what its GPUs' memory was given for. */
struct xplane_line *xplane_rows_memory(const struct xplane_rows *rows, const struct xplane_place *place);
/* A line for the GPU of that row, "GPU 0: NAME", in the plane of the host of the row's process, shown in front of its threads and behind those that were
 * added before. No place moves, pointers to lines of that plane do. 0 or -ENOMEM. */
int xplane_rows_add_idle(struct xplane_rows *rows, size_t row_index, const char *name, struct xplane_place *ret_place);
/* Of a plane of a GPU: the line that holds how long steps took on it. */
struct xplane_line *xplane_rows_step_spans(struct xplane_plane *plane);

#endif
