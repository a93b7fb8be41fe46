/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stats that are strings put together from several values, which XProf's readers take apart by their labels
 * (docs/formats/xplane.md, "Texts that readers take apart"). They come again and again: the file has each once, and what the same values
 * gave before is not made again.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_DETAILS_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_DETAILS_H

#include "exporters/xplane/xplane_plane.h"
#include "view/view.h"

/* Strings that stats refer to are kept in memory: beyond that each event has its own. */
#define XPLANE_REFERENCES_MAX 200000

struct xplane_details {
	const struct view *view;
	struct xplane_detail *details; /* by kind of event, in the order of the event's stats */
	size_t count;
	struct {
		size_t first, count; /* in details */
	} *kinds; /* by place of the kind in schema_kinds() */
	struct xplane_detail_made *made;
};

/* Looks the keys up; -EINVAL names one that its kind has not. Zero-initialise; xplane_details_free() after a failure too. */
int xplane_details_find(struct xplane_details *details, const struct view *view, struct err *err);
void xplane_details_free(struct xplane_details *details);

/* Adds those of the event, whose strings live until the next call. 0 or -ENOMEM. */
int xplane_details_add(struct xplane_details *details, const struct view_event *event, struct xplane_plane *plane,
		       struct xplane_event *ret_event);

/* A value as text; nothing where it is absent. */
void xplane_append_value(struct text *text, const struct view_value *value);

#endif
