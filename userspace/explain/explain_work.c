/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of a run: what GPUs and calls of CUDA did, and how GPUs are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "explain/explain_parts.h"
#include "steps/step_name.h"
#include "view/gpu_places.h"

/* A call that waits is behind a copy to the host that was asked for so shortly before. */
#define BEHIND_NS 50000
/* Bits of nvmlClocksThrottleReasons that are not the user's wish, and not that there is nothing to do. */
#define THROTTLES 0xecULL

struct thread {
	bool launches;
	u64 syncs, waited_ns,
		readback_ns; /* waited: of syncs; readback: of those behind a copy to the host that it may read by */
	u64 read_back_launched_ns; /* when the call came back that asked for its last such copy; 0: there was none */
	u64 call_ns;			   /* start of the outermost call */
	enum explain_finding call_finding; /* of it */
	u32 calls;
};

struct gpu {
	u32 kernels, copies[COPY_SORTS]; /* that run */
	u32 small_kernels; /* of these: with fewer blocks than it has multiprocessors */
	u64 since_ns;
};

struct run {
	struct explain *explain;
	struct thread *threads; /* [row] */
	struct explain_streams streams;
	struct gpu_places places;
	struct gpu *gpus;
	size_t gpu_capacity, gpu_count;
	const char *path, *path_words; /* of the last work that had one; what people read of it */
	bool launches_ended;	       /* only of the first ones there are stacks */
	struct map calls; /* name's address -> its finding: names stay where they are */
};

/* ---- what GPUs do ---- */

static struct gpu *gpu_of(struct run *run, u32 device)
{
	s64 place = gpu_places_of(&run->places, run->explain->view, device);

	if (place < 0 || array_reserve(&run->gpus, &run->gpu_capacity, (size_t)place + 1))
		return NULL;
	while (run->gpu_count <= (size_t)place)
		run->gpus[run->gpu_count++] = (struct gpu){0};
	return &run->gpus[place];
}

static bool is_of_host(const struct record_copy *copy)
{
	return copy->direction == VALUE_copy_direction_host_to_device ||
	       copy->direction == VALUE_copy_direction_device_to_host;
}

static enum explain_copy_sort sort_of(const struct record_copy *copy)
{
	if (!is_of_host(copy))
		return COPY_OTHER;
	if (copy->bytes <= EXPLAIN_TINY_BYTES)
		return COPY_TINY;
	return copy->from == VALUE_memory_kind_pageable || copy->to == VALUE_memory_kind_pageable
		       ? COPY_PAGEABLE
		       : COPY_OTHER;
}

static bool is_read_back(const struct record_copy *copy)
{
	return copy->direction == VALUE_copy_direction_device_to_host &&
	       copy->bytes <= EXPLAIN_READBACK_BYTES;
}

/* Up to ts a GPU did what it does since its last change. */
static void advance(struct run *run, struct gpu *gpu, u64 ts)
{
	if (!gpu->kernels && ts > gpu->since_ns) {
		for (unsigned i = 0; i < COPY_SORTS; i++) {
			if (!gpu->copies[i])
				continue;
			run->explain->copies[i].alone_ns += ts - gpu->since_ns;
			break;
		}
	}
	if (gpu->kernels == 1 && gpu->small_kernels == 1 && ts > gpu->since_ns)
		run->explain->state_ns[EXPLAIN_FEW_BLOCKS] += ts - gpu->since_ns;
	gpu->since_ns = ts;
}

static int change(struct run *run, const struct view_event *event, u64 ts, int by)
{
	struct gpu *gpu = gpu_of(run, event->row->device);

	if (!gpu)
		return -ENOMEM;
	advance(run, gpu, ts);
	if (event->kind->number == KIND_copy)
		gpu->copies[sort_of((const void *)event->record)] += by;
	else if (event->kind->number != KIND_set)
		gpu->kernels += by;
	if (explain_kernel_is_small(run->explain, event))
		gpu->small_kernels += by;
	return 0;
}

static int add_copy(struct run *run, const struct view_event *event)
{
	const struct record_copy *copy = (const void *)event->record;
	struct explain_copies *copies = &run->explain->copies[sort_of(copy)];
	u64 bytes = copy->bytes == ~0ULL ? 0 : copy->bytes;

	copies->count++;
	copies->bytes += bytes;
	copies->ns += event->dur;
	if (explain_places_add_kept(&copies->names, event->name, event->dur, 1))
		return -ENOMEM;
	if (!is_read_back(copy))
		return 0;
	run->explain->read_backs.count++;
	run->explain->read_backs.bytes += bytes;
	if (event->cause)
		run->threads[event->cause->row_index].read_back_launched_ns =
			event->cause->ts + event->cause->dur;
	return 0;
}

/* Consecutive work is mostly of one path. */
static int add_path(struct run *run, const char *path, u64 ns, struct explain_places *places)
{
	_cleanup_text_ struct text text = {0};
	const char *words;

	if (path == run->path)
		return explain_places_add_kept(places, run->path_words, ns, 1);
	step_name_append_path(path, &text);
	words = text.failed ? NULL
			    : view_intern(run->explain->view, text_string(&text), text.length);
	if (!words)
		return -ENOMEM;
	run->path = path;
	run->path_words = words;
	return explain_places_add_kept(places, words, ns, 1);
}

static int add_code(struct run *run, const struct view_event *event)
{
	_cleanup_text_ struct text text = {0};
	struct view_launch_code code;
	const char *path =
		event->cause ? view_path_text(run->explain->view, event->cause->within.path) : NULL;

	/* Shares of code are of those that have one then. */
	if (run->launches_ended && !(event->cause && event->cause->stack.stack))
		return path ? add_path(run, path, event->dur, &run->explain->ranges) : 0;
	if (view_launch_code(run->explain->view, event->cause, event->name, &code))
		view_launch_code_append(&code, view_frame_append, &text);
	else if (path)
		return add_path(run, path, event->dur, &run->explain->code);
	else
		return 0;
	return text.failed || explain_places_add(&run->explain->code, text_string(&text),
						 event->dur, 1)
		       ? -ENOMEM
		       : 0;
}

/* Of whose launch what is known? */
static void count_launch(struct explain *explain, const struct view_event *event)
{
	explain->kernel_ns += event->dur;
	if (!event->cause)
		explain->unlaunched_ns += event->dur;
	else if (event->cause->stack.stack)
		explain->stacked_ns += event->dur;
}

static int add_small(struct run *run, const struct view_event *event)
{
	struct explain_evidence *evidence = &run->explain->evidence[EXPLAIN_FEW_BLOCKS];

	if (!explain_kernel_is_small(run->explain, event))
		return 0;
	evidence->count++;
	return explain_places_add_kept(&evidence->places, event->name, event->dur, 1);
}

static int add_work(struct run *run, const struct view_event *event)
{
	u16 kind = event->kind->number;

	run->explain->operation_count++;
	run->explain->operation_ns += event->dur;
	if (event->cause)
		run->threads[event->cause->row_index].launches = true;
	if ((kind == KIND_copy && add_copy(run, event)) ||
	    explain_kernel_add(run->explain, event) || explain_stream_add(&run->streams, event) ||
	    add_small(run, event))
		return -ENOMEM;
	if (kind == KIND_kernel || kind == KIND_graph_launch) {
		count_launch(run->explain, event);
		if (explain_places_add_kept(&run->explain->kernels, event->name, event->dur, 1) ||
		    add_code(run, event))
			return -ENOMEM;
	}
	return change(run, event, event->ts, 1);
}

/* ---- calls ---- */

static enum explain_finding finding_of(struct run *run, const char *name)
{
	const u64 *known = map_find(&run->calls, (uintptr_t)name, 0);
	enum explain_finding finding =
		known ? (enum explain_finding) * known : explain_finding_of_call(name);

	/* Without memory it is looked for again. */
	if (!known)
		map_set(&run->calls, (uintptr_t)name, 0, finding);
	return finding;
}

static void add_call(struct run *run, const struct view_event *event)
{
	struct thread *thread = &run->threads[event->row_index];

	if (thread->calls++)
		return;
	thread->call_finding = finding_of(run, event->name);
	if (thread->call_finding == EXPLAIN_ALLOCATION)
		run->explain->allocation_count++;
	thread->call_ns = event->ts;
}

/* A call that waited has ended, and so has the copy to the host that it waited for. */
static void end_call(struct run *run, const struct view_event *event)
{
	struct thread *thread = &run->threads[event->row_index];
	enum explain_finding finding = thread->call_finding;

	if (--thread->calls || finding != EXPLAIN_SYNC)
		return;
	thread->syncs++;
	thread->waited_ns += event->dur;
	if (thread->read_back_launched_ns && thread->read_back_launched_ns + BEHIND_NS > event->ts)
		thread->readback_ns += event->dur;
}

/* ---- the run ---- */

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	struct run *run = data;

	if (event->kind->number == KIND_api)
		add_call(run, event);
	else if (view_row_is_of(work, event->kind->number) && add_work(run, event))
		return explain_no_memory(err);
	return 0;
}

static int run_end(void *data, const struct view_event *event, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};

	if (event->kind->number == KIND_api)
		end_call(data, event);
	else if (view_row_is_of(work, event->kind->number) && change(data, event, event->end, -1))
		return explain_no_memory(err);
	return 0;
}

static void add_environment(struct explain *explain, const struct record_gpu_environment *reading)
{
	const struct record_device *device =
		(const void *)view_fact(explain->view, KIND_device, reading->device);

	if (reading->throttle_reasons != ~0ULL) {
		explain->readings++;
		explain->throttled_readings += (reading->throttle_reasons & THROTTLES) != 0;
		explain->throttle_reasons |= reading->throttle_reasons & THROTTLES;
	}
	if (reading->memory_used_bytes == ~0ULL || !device || !device->memory_bytes)
		return;
	if (!explain->memory_bytes ||
	    (double)reading->memory_used_bytes / device->memory_bytes >
		    (double)explain->memory_used_bytes / explain->memory_bytes) {
		explain->memory_used_bytes = reading->memory_used_bytes;
		explain->memory_bytes = device->memory_bytes;
	}
}

static int run_counter(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	const struct record_process_memory *memory = (const void *)event->record;

	(void)err;
	if (event->kind->number == KIND_gpu_environment)
		add_environment(run->explain, (const void *)event->record);
	if (event->kind->number == KIND_process_memory && memory->resident_bytes != ~0ULL &&
	    memory->resident_bytes > run->explain->resident_bytes)
		run->explain->resident_bytes = memory->resident_bytes;
	return 0;
}

static void sum_threads(struct run *run)
{
	struct explain *explain = run->explain;

	for (size_t i = 0; i < explain->survey->row_count; i++) {
		const struct thread *thread = &run->threads[i];

		if (!thread->launches)
			continue;
		explain->sync_count += thread->syncs;
		explain->waited_ns += thread->waited_ns;
		explain->readback_ns += thread->readback_ns;
	}
}

static int begin(struct explain *explain, void *state)
{
	size_t rows = explain->survey->row_count;
	struct run *run = state;

	run->explain = explain;
	run->launches_ended = explain_launches_ended(explain);
	run->threads = calloc(rows + 1, sizeof(*run->threads));
	run->streams.threads = calloc(rows + 1, sizeof(*run->streams.threads));
	return run->threads && run->streams.threads ? 0 : -ENOMEM;
}

static int end(void *state)
{
	struct run *run = state;

	sum_threads(run);
	explain_streams_settle(run->explain, &run->streams);
	return explain_collectives_settle(run->explain);
}

static void run_free(void *state)
{
	struct run *run = state;

	map_free(&run->calls);
	map_free(&run->streams.known);
	free(run->streams.threads);
	free(run->threads);
	free(run->gpus);
	gpu_places_free(&run->places);
}

static const struct view_sink sink = {.span = run_span,
				      .end = run_end,
				      .counter = run_counter,
				      .only_recorded = true,
				      .end_kinds = {KIND_api, VIEW_GPU_WORK}};

const struct explain_look explain_work = {&sink, sizeof(struct run), begin, end, run_free};
