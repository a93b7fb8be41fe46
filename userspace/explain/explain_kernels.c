/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What single kernels, and the streams that they are launched into, tell. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "base/array.h"
#include "explain/explain_parts.h"
#include "view/occupancy.h"

/* From this compute capability on there are tensor cores that take fp32 (as TF32). */
#define TENSOR_MAJOR 8
/* So many streams, in turn, are many for a thread. */
#define STREAMS_LEAST 4

static const char *const fp32_patterns[] = {
#define FP32_KERNEL(pattern) pattern,
#include "explain/kernels.def"
};

static const char *const collective_patterns[] = {
#define COLLECTIVE_KERNEL(pattern) pattern,
#include "explain/kernels.def"
};

static const char *const meeting_patterns[] = {
#define MEETING_KERNEL(pattern) pattern,
#include "explain/kernels.def"
};

static bool is_any(const char *name, const char *const *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!fnmatch(patterns[i], name, 0))
			return true;
	return false;
}

/* What its name tells, looked at once a name: these stay where they are. */
enum { SORT_FP32 = 1, SORT_COLLECTIVE = 2, SORT_MEETING = 4 };

static unsigned sorts_of(struct explain *explain, const char *name)
{
	const u64 *known = map_find(&explain->kernel_sorts, (uintptr_t)name, 0);
	unsigned sorts = 0;

	if (known)
		return (unsigned)*known;
	if (is_any(name, fp32_patterns, ARRAY_SIZE(fp32_patterns)))
		sorts |= SORT_FP32;
	if (is_any(name, collective_patterns, ARRAY_SIZE(collective_patterns)))
		sorts |= SORT_COLLECTIVE;
	if (is_any(name, meeting_patterns, ARRAY_SIZE(meeting_patterns)))
		sorts |= SORT_MEETING;
	/* Without memory it is looked at again. */
	map_set(&explain->kernel_sorts, (uintptr_t)name, 0, sorts);
	return sorts;
}

bool explain_kernel_is_small(struct explain *explain, const struct view_event *event)
{
	const struct record_kernel *kernel = (const void *)event->record;
	const struct record_device *device;
	u64 blocks;

	if (event->kind->number != KIND_kernel)
		return false;
	device = (const void *)view_fact(explain->view, KIND_device, kernel->device);
	blocks = kernel_blocks(kernel);
	/* Those of collectives are meant to leave room. */
	return device && device->multiprocessors && blocks && blocks < device->multiprocessors &&
	       !(sorts_of(explain, event->name) & SORT_COLLECTIVE);
}

static int add_fp32(struct explain *explain, const struct view_event *event)
{
	const struct record_kernel *kernel = (const void *)event->record;
	const struct record_device *device =
		(const void *)view_fact(explain->view, KIND_device, kernel->device);

	if (!device || device->compute_major < TENSOR_MAJOR ||
	    !(sorts_of(explain, event->name) & SORT_FP32))
		return 0;
	explain->state_ns[EXPLAIN_FP32] += event->dur;
	explain->evidence[EXPLAIN_FP32].count++;
	return explain_places_add(&explain->evidence[EXPLAIN_FP32].places, event->name, event->dur,
				  1);
}

static int add_collective(struct explain *explain, const struct view_event *event)
{
	return sorts_of(explain, event->name) & SORT_MEETING
		       ? explain_collective_add(explain, event)
		       : 0;
}

int explain_kernel_add(struct explain *explain, const struct view_event *event)
{
	if (event->kind->number != KIND_kernel)
		return 0;
	return add_fp32(explain, event) || add_collective(explain, event) ? -ENOMEM : 0;
}

/* ---- streams ---- */

int explain_stream_add(struct explain_streams *streams, const struct view_event *event)
{
	size_t thread = event->cause ? event->cause->row_index : WHY_NO_ROW;
	struct explain_thread_streams *used;

	if (thread == WHY_NO_ROW || event->row->stream == ~0U)
		return 0;
	used = &streams->threads[thread];
	/* Another GPU's stream is another matter. */
	if (used->operations++ && used->last != event->row->stream &&
	    used->last_device == event->row->device)
		used->switches++;
	used->last = event->row->stream;
	used->last_device = event->row->device;
	if (map_find(&streams->known, thread, event->row->stream))
		return 0;
	used->streams++;
	return map_set(&streams->known, thread, event->row->stream, 1);
}

void explain_streams_settle(struct explain *explain, const struct explain_streams *streams)
{
	const struct explain_thread_streams *most = NULL;

	for (size_t i = 0; i < explain->survey->row_count; i++)
		if (!most || streams->threads[i].operations > most->operations)
			most = &streams->threads[i];
	/* Most of the work, and every second operation or more into another stream. */
	if (most && most->streams >= STREAMS_LEAST && 2 * most->switches >= most->operations &&
	    2 * most->operations >= explain->operation_count)
		explain->stream_turns = *most;
}

void explain_kernels_free(struct explain *explain)
{
	map_free(&explain->kernel_sorts);
}
