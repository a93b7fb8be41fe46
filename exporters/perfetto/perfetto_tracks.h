/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracks of a trace of Perfetto: those of threads and processes have their real ids, a GPU as a process uses it is a track with its
 * streams below, and where spans of a row overlap each lane is a track. Counters are tracks that come when the first value does.
 */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_TRACKS_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_TRACKS_H

#include "exporters/chrome/chrome_rows.h"
#include "exporters/perfetto/perfetto_packets.h"

/* Zero-initialise. */
struct perfetto_tracks {
	const struct chrome_rows *rows;
	struct map groups;	     /* of a process, or a GPU as a process uses it: its track */
	u64 *group_of;		     /* per row */
	struct string_table names;   /* of counters */
	struct map counters;	     /* (group, name) -> track */
	bool *told;		     /* per row that is told of when something is drawn there */
	u64 next;
	u64 own; /* what is said of the recording itself */
};

/* Gives tracks to all rows and tells of them. rows must outlive tracks. perfetto_tracks_free() after a failure too. */
int perfetto_tracks_make(struct perfetto_tracks *tracks, struct perfetto_packets *packets, const struct chrome_rows *rows,
			 const struct view *view, struct err *err);
/* 0: the survey has no such row or lane. */
u64 perfetto_tracks_lane(const struct perfetto_tracks *tracks, size_t row_index, unsigned lane);
/* The same, told of: what stands on a stream besides its work is rare. 0 or what writing gives. */
int perfetto_tracks_tell(struct perfetto_tracks *tracks, struct perfetto_packets *packets, size_t row_index, struct err *err);
/* The track of the row's process or GPU. */
static inline u64 perfetto_tracks_group(const struct perfetto_tracks *tracks, size_t row_index)
{
	return tracks->group_of[row_index];
}
/* A further track below that one, which is told of. */
int perfetto_tracks_add(struct perfetto_tracks *tracks, struct perfetto_packets *packets, size_t row_index, const char *name,
			u64 *ret_track, struct err *err);
/* The counter of that name there, which is told of when it is new. */
int perfetto_tracks_counter(struct perfetto_tracks *tracks, struct perfetto_packets *packets, size_t row_index, const char *name,
			    u64 *ret_track, struct err *err);
void perfetto_tracks_free(struct perfetto_tracks *tracks);

#endif
