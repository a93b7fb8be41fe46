/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters that the view makes from other events, for each GPU of each process: kernels that run, the share of time
 * in which it did anything, and the memory that was allocated and not freed again. What was allocated before the
 * recording is not known, so memory counts from there, and what is freed without having been seen is counted apart.
 * Values are given out when time has passed the moment of their change: one value a moment.
 */
#include "view/view_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/view_parts.h"

#define GPUS_MAX     1024 /* ids come from targets */
#define LIVE_MAX     (1U << 20)
#define BUSY_MAX     1000 /* values of "GPU busy" in a window, about */
#define MEMORY_KINDS 8

enum {
	GAUGE_RUNNING,
	GAUGE_BUSY,
	GAUGE_UNKNOWN,
	GAUGE_MEMORY,
	GAUGES = GAUGE_MEMORY + MEMORY_KINDS
};

static const char *const gauge_names[GAUGES] = {
	[GAUGE_RUNNING] = "Kernels running",
	[GAUGE_BUSY] = "GPU busy (%)",
	[GAUGE_UNKNOWN] = "Frees of memory from before the attach",
	[GAUGE_MEMORY] = "Memory since attach (bytes): unknown",
	[GAUGE_MEMORY + VALUE_memory_kind_pageable] = "Memory since attach (bytes): pageable",
	[GAUGE_MEMORY + VALUE_memory_kind_pinned] = "Memory since attach (bytes): pinned",
	[GAUGE_MEMORY + VALUE_memory_kind_device] = "Memory since attach (bytes): device",
	[GAUGE_MEMORY + VALUE_memory_kind_array] = "Memory since attach (bytes): array",
	[GAUGE_MEMORY + VALUE_memory_kind_managed] = "Memory since attach (bytes): managed",
	[GAUGE_MEMORY + VALUE_memory_kind_device_static] =
		"Memory since attach (bytes): device, static",
	[GAUGE_MEMORY + VALUE_memory_kind_managed_static] =
		"Memory since attach (bytes): managed, static",
};

struct gauge {
	u64 value, shown;
	bool dirty; /* changed at counters->now */
	bool ever;  /* was shown */
};

struct view_gpu {
	size_t row;
	u64 working;	   /* kernels, copies and sets that run */
	u32 stream;	   /* of its first kernel */
	bool ran, streams; /* a kernel ran; there are kernels of another one too */
	u64 busy_since;
	u64 *busy_ns; /* of each bucket; NULL before it worked */
	struct gauge gauges[GAUGES];
};

static u64 bucket_start(const struct view_counters *counters, size_t bucket)
{
	return counters->view->survey.window_start_ns + bucket * counters->bucket_ns;
}

/* The buckets of the survey hold what the run shows; the GPUs have the same places in both. */
static void show_busy(struct view_counters *counters, size_t place, size_t bucket)
{
	const struct view_counters *surveyed = counters->surveyed;
	const u64 *busy = place < surveyed->gpu_count ? surveyed->gpus[place].busy_ns : NULL;
	u64 width = counters->bucket_ns, end = counters->view->survey.window_end_ns;
	struct gauge *gauge = &counters->gpus[place].gauges[GAUGE_BUSY];

	if (bucket_start(counters, bucket + 1) > end)
		width = end - bucket_start(counters, bucket);
	if (!busy || !width)
		return;
	gauge->value = 0.5 + 100.0 * (double)busy[bucket] / (double)width;
	gauge->dirty = counters->any_dirty = true;
}

/* ---- the GPUs ---- */

void view_counters_init(struct view_counters *counters, struct view *view)
{
	u64 window = view->survey.window_end_ns - view->survey.window_start_ns, width = 1;

	/* 1, 2 or 5 with zeros behind it. */
	for (unsigned i = 0; width * BUSY_MAX < window && width < 1ULL << 60; i++)
		width = i % 3 == 1 ? width / 2 * 5 : width * 2;
	*counters = (struct view_counters){.view = view,
					   .bucket_ns = width,
					   .bucket_count = window ? (window - 1) / width + 1 : 0};
	counters->now = view->survey.window_start_ns;
}

void view_counters_free(struct view_counters *counters)
{
	for (size_t i = 0; i < counters->gpu_count; i++)
		free(counters->gpus[i].busy_ns);
	free(counters->gpus);
	free(counters->ends);
	map_free(&counters->places);
	map_free(&counters->live_bytes);
	map_free(&counters->live_owners);
	*counters = (struct view_counters){0};
}

void view_counters_set_surveyed(struct view_counters *counters, struct view_counters *surveyed)
{
	counters->surveyed = surveyed;
}

/* NULL: none that can be counted for, or without memory (then ret_result says so). */
static struct view_gpu *gpu_of(struct view_counters *counters, const struct view_event *event,
			       u32 device, int *ret_result)
{
	const struct record_header *record = event->record;
	const u64 *place = map_find(&counters->places, record->source, device);
	s64 row;

	if (place)
		return &counters->gpus[*place];
	if (counters->gpu_count == GPUS_MAX)
		return NULL;
	row = view_rows_find_device(&counters->view->rows, record->source, record->pid, device,
				    !counters->surveyed);
	if (row == -ENOENT)
		return NULL;
	if (row < 0 ||
	    array_reserve(&counters->gpus, &counters->gpu_capacity, counters->gpu_count + 1) < 0 ||
	    map_set(&counters->places, record->source, device, counters->gpu_count) < 0) {
		*ret_result = -ENOMEM;
		return NULL;
	}
	counters->gpus[counters->gpu_count++] = (struct view_gpu){.row = row};
	/* Of the time that is running already. */
	if (counters->surveyed && counters->next_bucket)
		show_busy(counters, counters->gpu_count - 1, counters->next_bucket - 1);
	return &counters->gpus[counters->gpu_count - 1];
}

/* ---- time ---- */

static int show(struct view_counters *counters, struct view_gpu *gpu, unsigned number, u64 ts,
		struct err *err)
{
	struct gauge *gauge = &gpu->gauges[number];
	struct record_level level = {
		.header = {.size_bytes = sizeof(level), .kind = KIND_level, .ts = ts},
		.value = gauge->value,
	};
	const struct view_row *row = &counters->view->rows.rows[gpu->row];
	const struct view_event event = {
		.record = &level.header,
		.kind = schema_kind(KIND_level),
		.ts = ts,
		.end = ts,
		.name = gauge_names[number],
		.row = row,
		.row_index = gpu->row,
		.computed = true,
	};

	gauge->dirty = false;
	if (!counters->emit || (gauge->ever && gauge->shown == gauge->value))
		return 0;
	gauge->ever = true;
	gauge->shown = gauge->value;
	level.header.source = row->source;
	level.header.pid = row->pid;
	return counters->emit(counters->emit_data, &event, err);
}

/* Gives out what changed until now, since time goes on. */
static int move_to(struct view_counters *counters, u64 ts, struct err *err)
{
	int result = 0;

	if (ts <= counters->now)
		return 0;
	for (size_t i = 0; counters->any_dirty && i < counters->gpu_count; i++)
		for (unsigned j = 0; j < GAUGES && result == 0; j++)
			if (counters->gpus[i].gauges[j].dirty)
				result = show(counters, &counters->gpus[i], j, counters->now, err);
	counters->any_dirty = false;
	counters->now = ts;
	return result;
}

/* On one stream there is one kernel after the other: whether one runs is seen without a counter. */
static bool counts_running(const struct view_counters *counters, const struct view_gpu *gpu)
{
	const struct view_counters *surveyed = counters->surveyed;
	size_t place = gpu - counters->gpus;

	return surveyed && place < surveyed->gpu_count && surveyed->gpus[place].streams;
}

static void change(struct view_counters *counters, struct view_gpu *gpu, unsigned number, s64 by)
{
	gpu->gauges[number].value += by;
	gpu->gauges[number].dirty = counters->any_dirty = true;
}

/* ---- busy ---- */

static int add_busy(struct view_counters *counters, struct view_gpu *gpu, u64 from, u64 to)
{
	u64 start = counters->view->survey.window_start_ns;

	if (!gpu->busy_ns)
		gpu->busy_ns = calloc(counters->bucket_count + 1, sizeof(*gpu->busy_ns));
	if (!gpu->busy_ns)
		return -ENOMEM;
	for (size_t i = (from - start) / counters->bucket_ns;
	     i < counters->bucket_count && from < to; i++) {
		u64 next = bucket_start(counters, i + 1);
		u64 until = next < to ? next : to;

		gpu->busy_ns[i] += until - from;
		from = until;
	}
	return 0;
}

/* ---- ends of work: a heap ---- */

static bool ends_before(const struct view_work_end *a, const struct view_work_end *b)
{
	return a->ts < b->ts;
}

static int push_end(struct view_counters *counters, const struct view_work_end *end)
{
	size_t place = counters->end_count;

	if (array_reserve(&counters->ends, &counters->end_capacity, place + 1) < 0)
		return -ENOMEM;
	counters->end_count++;
	for (; place && ends_before(end, &counters->ends[(place - 1) / 2]); place = (place - 1) / 2)
		counters->ends[place] = counters->ends[(place - 1) / 2];
	counters->ends[place] = *end;
	return 0;
}

static struct view_work_end pop_end(struct view_counters *counters)
{
	struct view_work_end *ends = counters->ends, first = ends[0],
			     moving = ends[--counters->end_count];
	size_t place = 0, child;

	while ((child = 2 * place + 1) < counters->end_count) {
		child += child + 1 < counters->end_count &&
			 ends_before(&ends[child + 1], &ends[child]);
		if (!ends_before(&ends[child], &moving))
			break;
		ends[place] = ends[child];
		place = child;
	}
	ends[place] = moving;
	return first;
}

static int end_work(struct view_counters *counters)
{
	struct view_work_end end = pop_end(counters);
	struct view_gpu *gpu = &counters->gpus[end.gpu];

	if (end.kernel && counts_running(counters, gpu))
		change(counters, gpu, GAUGE_RUNNING, -1);
	if (--gpu->working || counters->surveyed)
		return 0;
	return add_busy(counters, gpu, gpu->busy_since, end.ts);
}

static void next_bucket(struct view_counters *counters)
{
	for (size_t i = 0; i < counters->gpu_count; i++)
		show_busy(counters, i, counters->next_bucket);
	counters->next_bucket++;
}

int view_counters_advance(struct view_counters *counters, u64 ts, struct err *err)
{
	int result = 0;

	while (result == 0) {
		u64 end = counters->end_count ? counters->ends[0].ts : ~0ULL;
		u64 bucket = counters->surveyed && counters->next_bucket < counters->bucket_count
				     ? bucket_start(counters, counters->next_bucket)
				     : ~0ULL;
		u64 next = end < bucket ? end : bucket;

		if (next > ts || next == ~0ULL)
			break;
		result = move_to(counters, next, err);
		if (result == 0 && next == bucket)
			next_bucket(counters);
		else if (result == 0 && end_work(counters) < 0)
			result = err_errno(err, -ENOMEM, "can't read the capture");
	}
	return result == 0 ? move_to(counters, ts, err) : result;
}

/* ---- events ---- */

static void note_stream(struct view_gpu *gpu, u32 stream)
{
	gpu->streams |= gpu->ran && gpu->stream != stream;
	gpu->stream = stream;
	gpu->ran = true;
}

static int add_work(struct view_counters *counters, const struct view_event *event)
{
	int result = 0;
	struct view_gpu *gpu = gpu_of(counters, event, event->row->device, &result);
	const struct view_work_end end = {
		.ts = event->end,
		.gpu = gpu ? gpu - counters->gpus : 0,
		.kernel = event->kind->number == KIND_kernel,
	};

	if (!gpu)
		return result;
	if (!gpu->working++)
		gpu->busy_since = event->ts;
	if (end.kernel && counts_running(counters, gpu))
		change(counters, gpu, GAUGE_RUNNING, 1);
	if (end.kernel)
		note_stream(gpu, event->row->stream);
	return push_end(counters, &end);
}

/* Takes what lies at this address out of the counter that it is in. False: nothing does. */
static bool release(struct view_counters *counters, u32 source, u64 address)
{
	const u64 *bytes = map_find(&counters->live_bytes, source, address);
	const u64 *owner = map_find(&counters->live_owners, source, address);

	if (!bytes || !owner)
		return false;
	change(counters, &counters->gpus[*owner / GAUGES], *owner % GAUGES, -(s64)*bytes);
	map_remove(&counters->live_bytes, source, address);
	map_remove(&counters->live_owners, source, address);
	return true;
}

static int add_memory(struct view_counters *counters, const struct view_event *event)
{
	const struct record_gpu_memory *memory = (const struct record_gpu_memory *)event->record;
	u32 source = memory->header.source;
	unsigned gauge = GAUGE_MEMORY + memory->memory % MEMORY_KINDS;
	int result = 0;
	struct view_gpu *gpu = gpu_of(counters, event, memory->device, &result);

	if (!gpu || !memory->address)
		return result;
	if (memory->operation == VALUE_memory_operation_release) {
		if (!release(counters, source, memory->address))
			change(counters, gpu, GAUGE_UNKNOWN, 1);
		return 0;
	}
	if (memory->operation != VALUE_memory_operation_allocate || memory->bytes > INT64_MAX / 2)
		return 0;
	/* Freed unseen, if it was there. */
	release(counters, source, memory->address);
	if (counters->live_bytes.count >= LIVE_MAX)
		return 0;
	change(counters, gpu, gauge, memory->bytes);
	if (map_set(&counters->live_bytes, source, memory->address, memory->bytes) < 0)
		return -ENOMEM;
	return map_set(&counters->live_owners, source, memory->address,
		       (gpu - counters->gpus) * GAUGES + gauge);
}

static const struct {
	u16 kind;
	int (*add)(struct view_counters *counters, const struct view_event *event);
} sources[] = {
	{KIND_kernel, add_work},       {KIND_copy, add_work},	      {KIND_set, add_work},
	{KIND_graph_launch, add_work}, {KIND_gpu_memory, add_memory},
};

int view_counters_add(struct view_counters *counters, const struct view_event *event,
		      struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (sources[i].kind != event->kind->number)
			continue;
		if (sources[i].add(counters, event) < 0)
			return err_errno(err, -ENOMEM, "can't read the capture");
	}
	return 0;
}
