/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the stats of events are in an XPlane: one table from kinds and keys of the view to stats and the types that
 * XProf's readers insist on (docs/formats/xplane.md, "Types of stats"), beside the strings of xplane_details.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_VALUES_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_VALUES_H

#include "exporters/xplane/xplane_details.h"
#include "exporters/xplane/xplane_stacks.h"
#include "view/view.h"

#define XPLANE_KNOWN 512 /* a power of two */

struct xplane_values {
	const struct view *view;
	struct xplane_values_kind *kinds; /* by place of the kind in schema_kinds() */
	size_t kind_count;
	struct xplane_details details;
	struct xplane_stacks stacks;
	struct text *texts; /* what stats of the event at hand point into */
	const char *plain_names[XPLANE_KNOWN];	 /* names of the view that are names here too, by their address */
	const char *short_strings[XPLANE_KNOWN]; /* the same of strings that are values */
};

enum xplane_stat_type {
	XPLANE_STAT_ANY, /* as the value is */
	XPLANE_STAT_U64, /* read as uint64 only */
	XPLANE_STAT_S64, /* read as int64 only */
	XPLANE_STAT_DOUBLE,
	XPLANE_STAT_COUNTER, /* as a number on a counter's row */
};

/* One of the stats of some kinds. */
struct xplane_stat_row {
	u16 kinds[VIEW_ROW_KINDS_MAX];
	const char *key; /* of view_key() */
	const char *stat;
	enum xplane_stat_type type;
	const char *unless; /* this value goes without saying; NULL: none does */
};

/* Where the value of key is so, the event's name is that; the first row that fits. */
struct xplane_name_row {
	u16 kind;
	const char *key, *value; /* NULL: any; the value then stands behind the name */
	const char *name;
};

/* Looks the keys of the tables up. Zero-initialise; xplane_values_free() after a failure too. */
int xplane_values_find(struct xplane_values *values, const struct view *view, struct err *err);
/* Add a row to them; they outlive it. -EINVAL names a key or a value that a kind has not. */
int xplane_values_add_stat(struct xplane_values *values, const struct xplane_stat_row *row, struct err *err);
int xplane_values_add_name(struct xplane_values *values, const struct xplane_name_row *row, struct err *err);
void xplane_values_free(struct xplane_values *values);

/* The name of the event as XProf knows such work: "MemcpyHtoD", "CudaGraphExec:7"; else the view's own. */
const char *xplane_values_name(struct xplane_values *values, const struct view_event *event);
/* Adds the stats of the event, whose strings live until the next call. 0 or -ENOMEM. */
int xplane_values_add(struct xplane_values *values, const struct view_event *event, struct xplane_plane *plane,
		      struct xplane_event *ret_event);
/* Adds its stack, where it has one: not to a counter, whose stats are its values. 0 or -ENOMEM. */
int xplane_values_add_stack(struct xplane_values *values, const struct view_event *event,
			    struct xplane_plane *plane, struct xplane_event *ret_event);
/* Of a counter: its values, of which several may come in one event, have names of their own. */
bool xplane_values_have_names(const struct xplane_values *values, const struct view_event *event);

#endif
