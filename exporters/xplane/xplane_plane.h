/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One XPlane (exporters/xplane/xplane.proto) while it is made: events go line by line into spools, names and stats get their
 * numbers; at the end it is written in one go, with the length of each message in front. Never one tree of messages.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_PLANE_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_PLANE_H

#include "base/err.h"
#include "base/map.h"
#include "base/spool.h"
#include "base/text.h"
#include "exporters/xplane/xplane_pack.h"

#define XPLANE_REMEMBERED 512 /* a power of two */

struct xplane_line {
	s64 id, display_id;
	struct text name;
	struct spool events; /* each with its tag and length, as in XLine */
	u64 event_count;
	u64 moment_ps, moment_points; /* of the last point, and how many came before it at this moment */
};

struct xplane_plane {
	s64 id;
	const char *name;  /* the plane's own */
	u32 device_number; /* of a GPU's */
	struct xplane_line *lines; /* in the order of the file */
	size_t line_count, line_capacity;
	struct string_table event_names, stat_names; /* number + 1 is the id in the file */
	struct {
		const char *string;
		s64 id;
	} remembered[XPLANE_REMEMBERED]; /* ids of strings that do not change, by their address */
	size_t last_names[XPLANE_REMEMBERED]; /* by a name's address: number + 1 of the event that was there last */
	struct text packed; /* the plane's own stats, and what else of it is packed already */
};

/* An event while its stats are put together; strings in it must live until it is added. */
struct xplane_event {
	Tensorflow__Profiler__XEvent message;
	xplane_stat stats[XPLANE_STATS_MAX];
	xplane_stat *list[XPLANE_STATS_MAX];
};

/* name is copied. */
int xplane_plane_init(struct xplane_plane *plane, s64 id, const char *name);
void xplane_plane_free(struct xplane_plane *plane);

/* A new line, valid until the next one; NULL without memory. */
struct xplane_line *xplane_plane_line(struct xplane_plane *plane, s64 id);

/* Ids of a stat's name, or of a string that stats refer to (ref_value); 0 without memory. */
s64 xplane_plane_stat(struct xplane_plane *plane, const char *name);

/* The same of a string that does not change as long as the plane is there. */
s64 xplane_plane_constant(struct xplane_plane *plane, const char *name);

/* A stat of the plane itself. 0 or -ENOMEM. */
int xplane_plane_add(struct xplane_plane *plane, const char *name, xplane_stat *stat);
int xplane_plane_add_string(struct xplane_plane *plane, const char *name, const char *value);
int xplane_plane_add_u64(struct xplane_plane *plane, const char *name, u64 value);
int xplane_plane_add_s64(struct xplane_plane *plane, const char *name, s64 value);
int xplane_plane_add_double(struct xplane_plane *plane, const char *name, double value);
/* Metadata of an event of which there is none, only to hold bytes. Either all ids are given so, or none. */
int xplane_plane_add_bytes(struct xplane_plane *plane, s64 id, const char *name, const char *stat_name,
			   const struct text *bytes);

/* Begins an event; false: no memory for its name. Readers take no name that is not UTF-8: see text_utf8(). */
bool xplane_event_begin(struct xplane_event *event, struct xplane_plane *plane, const char *name, u64 offset_ns,
			u64 dur_ns);
/* The next stat of the event, without a value; NULL: it has as many as it can have. */
xplane_stat *xplane_event_stat(struct xplane_event *event, s64 id);
/* A stat with its value, of a constant name; what an event has no room for is left out. false: no memory. Readers take some
 * numbers as int64 only, others as uint64 only. */
bool xplane_event_add_s64(struct xplane_event *event, struct xplane_plane *plane, const char *name, s64 value);
bool xplane_event_add_double(struct xplane_event *event, struct xplane_plane *plane, const char *name, double value);
bool xplane_event_add_string(struct xplane_event *event, struct xplane_plane *plane, const char *name,
			     const char *value);
/* The same for a constant that comes again and again: the file has it once. */
bool xplane_event_add_reference(struct xplane_event *event, struct xplane_plane *plane, const char *name,
				const char *value);
/* Appends the event to its line: in the order of (start, longest first), nested or apart. XProf's trace viewer keeps 256 events
 * of one picosecond of a process and drops the others without a word: points of one nanosecond are moved apart by less than one. */
int xplane_line_add(struct xplane_line *line, struct spool_store *store, struct xplane_event *event,
		    struct err *err);

/* text_utf8() for the name of a counter, which XProf puts into JSON as it is: without quotes, backslashes and control
 * characters. */
const char *xplane_counter_name(const char *string, struct text *scratch);

/* Bytes of the whole plane in its file, its tag and length included; write gives them. Lines without events are left
 * out. Both need the same state. */
int xplane_plane_pack(struct xplane_plane *plane, struct text *ret_head, u64 *ret_size_bytes, struct err *err);
int xplane_plane_write(const struct xplane_plane *plane, const struct text *head, const struct spool_store *store,
		       spool_callback write, void *data, struct err *err);

#endif
