/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of GPUs as XProf's Memory Profile reads it (and its Memory Viewer: xplane_hlo_heap.h): an event for each allocation and release, with what is in use after
 * it. What was allocated before the recording is not known: all counts begin there, and a release of it is left out.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_MEMORY_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_MEMORY_H

#include "exporters/xplane/xplane_hlo_heap.h"
#include "exporters/xplane/xplane_messages.h"
#include "exporters/xplane/xplane_plane.h"
#include "view/view.h"

/* What readers call an allocator: a kind of memory of a GPU, in a process. */
struct xplane_allocator {
	s64 used_bytes, peak_bytes;
	struct xplane_hlo_heap heap;
};

/* Zero-initialise it. */
struct xplane_memory {
	struct map live_bytes, live_allocators; /* (source, address) -> size, place in allocators */
	struct map live_buffers;		/* the same -> the buffer of its allocator's heap */
	struct string_table names;		/* "PID GPU_0" -> place in allocators */
	struct xplane_allocator *allocators;
	size_t allocator_capacity;
};

struct xplane_memory_target {
	struct xplane_plane *plane; /* "/host:CPU" */
	struct xplane_line *line;
	struct spool_store *store;
	u64 offset_ns;
	const char *operation; /* that it was done for; NULL: not known */
};

/* Writes the event for a record of KIND_gpu_memory. */
int xplane_memory_add(struct xplane_memory *memory, const struct view *view, const struct view_event *event,
		      const struct xplane_memory_target *target, struct err *err);
/* Behind all events: the same for the Memory Viewer. */
int xplane_memory_close(const struct xplane_memory *memory, struct xplane_rows *rows, struct err *err);
/* Then: what is left out of it. 0 or -ENOMEM. */
int xplane_memory_tell(const struct xplane_memory *memory, struct xplane_message_list *warnings);
void xplane_memory_free(struct xplane_memory *memory);

#endif
