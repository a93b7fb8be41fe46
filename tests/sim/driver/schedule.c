/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams run in order on a clock that is computed: work starts when it is ready, when what it waits for has ended
 * and when its engine is free, and ends after its duration. A device's thread marks work done once that end has
 * passed on CLOCK_MONOTONIC, so times are exact however late the thread comes.
 */
#include <stdlib.h>
#include <time.h>
#include "driver.h"

#define LAUNCH_LATENCY_NS 3000
/* Without anybody who waits, work may be seen to be done this much late: fewer wake-ups. */
#define LAZY_NS 500000

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_submitted;
pthread_cond_t sim_completed;
static unsigned waiters;

__attribute__((constructor)) static void init_conditions(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&sim_submitted, &attributes);
	pthread_cond_init(&sim_completed, &attributes);
	pthread_condattr_destroy(&attributes);
}

uint64_t sim_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

struct sim_point *sim_point_get(struct sim_point *point)
{
	if (point)
		point->references++;
	return point;
}

void sim_point_put(struct sim_point *point)
{
	if (point && --point->references == 0)
		free(point);
}

struct sim_work *sim_work_new(CUstream stream, enum sim_kind kind)
{
	struct sim_work *work = calloc(1, sizeof(*work));

	work->stream = stream;
	work->point = calloc(1, sizeof(*work->point));
	work->point->references = 1;
	work->activity.kind = kind;
	work->activity.device = (uint32_t)stream->context->device->ordinal;
	work->activity.context_id = stream->context->id;
	work->activity.stream_id = stream->id;
	work->activity.priority = stream->priority;
	work->activity.channel_id = 8 + stream->id % 8;
	work->activity.channel_type = SIM_CHANNEL_COMPUTE;
	return work;
}

void sim_work_add_dependency(struct sim_work *work, struct sim_point *point)
{
	if (!point || point->is_done)
		return;
	work->after = realloc(work->after, (work->after_count + 1) * sizeof(struct sim_point *));
	work->after[work->after_count++] = sim_point_get(point);
}

/* The legacy default stream waits for all blocking streams of its context, and they for it. */
static void add_default_stream_order(struct sim_work *work)
{
	CUstream stream = work->stream;
	CUcontext context = stream->context;

	if (stream->is_null) {
		for (CUstream other = context->streams; other; other = other->next)
			if (other != stream && !(other->flags & CU_STREAM_NON_BLOCKING))
				sim_work_add_dependency(work, other->last);
	} else if (!(stream->flags & CU_STREAM_NON_BLOCKING)) {
		sim_work_add_dependency(work, context->null_stream->last);
	}
}

void sim_work_submit(struct sim_work *work)
{
	CUstream stream = work->stream;
	struct sim_device *device = stream->context->device;

	while (stream->queued >= SIM_MAX_QUEUED) {
		pthread_cond_signal(&sim_submitted);
		pthread_cond_wait(&sim_completed, &sim_lock);
	}
	add_default_stream_order(work);
	work->activity.queued_ns = sim_now_ns();
	work->activity.submitted_ns = work->activity.queued_ns + LAUNCH_LATENCY_NS / 2;
	work->ready_ns = work->activity.queued_ns + LAUNCH_LATENCY_NS;
	*stream->tail = work;
	stream->tail = &work->next;
	stream->queued++;
	sim_point_put(stream->last);
	stream->last = sim_point_get(work->point);
	if (device->pending++ == 0)
		pthread_cond_broadcast(&sim_submitted);
}

static bool schedule(struct sim_work *work)
{
	struct sim_device *device = work->stream->context->device;
	uint64_t start_ns = work->ready_ns;

	for (size_t i = 0; i < work->after_count; i++) {
		if (!work->after[i]->is_done)
			return false;
		if (work->after[i]->time_ns > start_ns)
			start_ns = work->after[i]->time_ns;
	}
	if (work->stream->last_end_ns > start_ns)
		start_ns = work->stream->last_end_ns;
	if (work->engine != SIM_ENGINE_NONE && device->engine_free_ns[work->engine] > start_ns)
		start_ns = device->engine_free_ns[work->engine];
	work->activity.start_ns = start_ns;
	if (work->graph)
		work->activity.end_ns = sim_graph_schedule(work->graph, start_ns);
	else
		work->activity.end_ns = start_ns + work->duration_ns;
	if (work->engine != SIM_ENGINE_NONE)
		device->engine_free_ns[work->engine] = work->activity.end_ns;
	work->is_scheduled = true;
	return true;
}

static void complete(struct sim_work *work)
{
	CUstream stream = work->stream;

	stream->head = work->next;
	if (!stream->head)
		stream->tail = &stream->head;
	stream->queued--;
	stream->context->device->pending--;
	stream->last_end_ns = work->activity.end_ns;
	work->point->is_done = true;
	work->point->time_ns = work->activity.end_ns;
	if (work->graph)
		sim_graph_done(work->graph);
	if (work->is_recorded)
		sim_tools_done(&work->activity);
	for (size_t i = 0; i < work->after_count; i++)
		sim_point_put(work->after[i]);
	sim_point_put(work->point);
	free(work->after);
	free(work);
}

/* All that can be done on the stream now; wake_ns becomes the end of what runs. Whether anything was done. */
static bool advance(CUstream stream, uint64_t *wake_ns)
{
	bool moved = false;
	struct sim_work *work;

	while ((work = stream->head)) {
		if (!work->is_scheduled && !schedule(work))
			return moved;
		if (work->activity.end_ns > sim_now_ns()) {
			if (work->activity.end_ns < *wake_ns)
				*wake_ns = work->activity.end_ns;
			return moved;
		}
		if (work->host_function) {
			pthread_mutex_unlock(&sim_lock);
			work->host_function(work->host_data);
			pthread_mutex_lock(&sim_lock);
			work->activity.end_ns = sim_now_ns();
		}
		complete(work);
		moved = true;
	}
	return moved;
}

static bool advance_device(struct sim_device *device, uint64_t *wake_ns)
{
	bool moved = false;

	for (CUcontext context = sim_contexts; context; context = context->next) {
		if (context->device != device)
			continue;
		for (CUstream *link = &context->streams; *link;) {
			CUstream stream = *link;

			moved |= advance(stream, wake_ns);
			if (stream->is_destroyed && !stream->head) {
				*link = stream->next;
				sim_point_put(stream->last);
				free(stream);
			} else {
				link = &stream->next;
			}
		}
	}
	return moved;
}

static void sleep_until(uint64_t wake_ns)
{
	uint64_t now_ns = sim_now_ns();
	struct timespec deadline;

	/* Others' work may be what this device waits for: look again, if lazily. */
	if (wake_ns == UINT64_MAX || (!waiters && wake_ns < now_ns + LAZY_NS))
		wake_ns = now_ns + LAZY_NS;
	deadline.tv_sec = (time_t)(wake_ns / 1000000000ull);
	deadline.tv_nsec = (long)(wake_ns % 1000000000ull);
	pthread_cond_timedwait(&sim_submitted, &sim_lock, &deadline);
}

static void *device_main(void *argument)
{
	struct sim_device *device = argument;

	pthread_mutex_lock(&sim_lock);
	for (;;) {
		uint64_t wake_ns = UINT64_MAX;
		bool moved = false;

		while (advance_device(device, &wake_ns)) {
			moved = true;
			wake_ns = UINT64_MAX;
		}
		if (moved) {
			pthread_cond_broadcast(&sim_completed);
			if (sim_device_count > 1)
				pthread_cond_broadcast(&sim_submitted);
		}
		if (device->pending)
			sleep_until(wake_ns);
		else
			pthread_cond_wait(&sim_submitted, &sim_lock);
	}
	return NULL;
}

void sim_device_start(struct sim_device *device)
{
	pthread_attr_t attributes;

	if (device->is_running)
		return;
	device->is_running = true;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&device->thread, &attributes, device_main, device))
		abort();
	pthread_setname_np(device->thread, "cuda-sim-dev");
	pthread_attr_destroy(&attributes);
}

void sim_point_wait(struct sim_point *point)
{
	sim_point_get(point);
	waiters++;
	while (!point->is_done) {
		pthread_cond_broadcast(&sim_submitted);
		pthread_cond_wait(&sim_completed, &sim_lock);
	}
	waiters--;
	sim_point_put(point);
}

void sim_stream_wait(CUstream stream)
{
	if (stream->last)
		sim_point_wait(stream->last);
}

void sim_context_wait(CUcontext context)
{
	struct sim_point **points = NULL;
	size_t count = 0;

	/* What is submitted now; others may go on submitting. */
	for (CUstream stream = context->streams; stream; stream = stream->next) {
		if (!stream->head)
			continue;
		points = realloc(points, (count + 1) * sizeof(struct sim_point *));
		points[count++] = sim_point_get(stream->last);
	}
	for (size_t i = 0; i < count; i++) {
		sim_point_wait(points[i]);
		sim_point_put(points[i]);
	}
	free(points);
}

int simDrain(unsigned timeout_ms)
{
	uint64_t deadline_ns = sim_now_ns() + timeout_ms * 1000000ull;
	struct timespec pause = {.tv_nsec = 200000};

	while (sim_interface.work_pending()) {
		if (sim_now_ns() > deadline_ns)
			return 0;
		nanosleep(&pause, NULL);
	}
	return 1;
}
