/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of a GPU as XProf's Memory Viewer reads it: a synthetic XLA program with an instruction for each operation and size for which
 * memory was given, and what came and went in which order. It holds so many allocations; beyond, the smallest are left out of those that
 * are gone and were not in use at the peak, so that the peak and what was in it stay right.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_HLO_HEAP_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_HLO_HEAP_H

#include "exporters/xplane/xplane_rows.h"

/* Moments at which memory comes or goes. (A test has a limit of its own.) */
#ifndef XPLANE_HLO_HEAP_EVENTS_MAX
#define XPLANE_HLO_HEAP_EVENTS_MAX 40000
#endif

struct xplane_hlo_buffer {
	u64 bytes;
	const char *operation; /* of xplane_ops_of(), NULL: not known */
	u32 number;	       /* from 1, ascending */
	bool is_gone, is_in_peak; /* while it is looked for what can be left out */
};

/* Zero-initialise it. */
struct xplane_hlo_heap {
	struct xplane_hlo_buffer *buffers;
	u32 *events; /* number of the buffer * 2, + 1: it goes */
	size_t buffer_count, buffer_capacity, event_count, event_capacity;
	size_t peak_event_count; /* events up to the peak */
	u64 used_bytes, peak_bytes;
	u32 last_number;
	u64 left_out; /* allocations */
	bool is_full; /* of what can't be left out */
};

/* ret_buffer: for its release; 0: it is left out. 0 or -ENOMEM. */
int xplane_hlo_heap_allocate(struct xplane_hlo_heap *heap, u64 bytes, const char *operation, u32 *ret_buffer);
int xplane_hlo_heap_release(struct xplane_hlo_heap *heap, u32 buffer, u64 bytes);
/* Gives the space the program, where there was something allocated. */
int xplane_hlo_heap_close(const struct xplane_hlo_heap *heap, struct xplane_space *space, const char *name, s64 id);
void xplane_hlo_heap_free(struct xplane_hlo_heap *heap);

#endif
