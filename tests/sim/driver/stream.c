/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams, events, and waiting for them. */
#include <stdlib.h>
#include "driver.h"
#include <cupti_callbacks.h>

#define LEAST_PRIORITY	  0
#define GREATEST_PRIORITY (-5)

static __thread CUstream per_thread_stream;
static uint32_t last_event_id;
static uint64_t last_sync_id;

CUstream sim_stream_new(CUcontext context, unsigned flags, int priority)
{
	CUstream stream = calloc(1, sizeof(*stream));

	stream->context = context;
	stream->id = sim_next_id();
	stream->flags = flags;
	stream->priority = priority;
	stream->tail = &stream->head;
	stream->next = context->streams;
	context->streams = stream;
	return stream;
}

/* Whether the application called a function whose stream 0 is the thread's own. */
static bool is_per_thread_call(void)
{
	for (const struct sim_call *call = sim_current_call(); call; call = call->outer)
		if (call->site->per_thread)
			return true;
	return false;
}

CUstream sim_resolve_stream(CUstream handle)
{
	CUcontext context = sim_current_context();

	if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD)
		return handle;
	if (!context)
		return NULL;
	if (handle == CU_STREAM_PER_THREAD || (!handle && is_per_thread_call())) {
		if (!per_thread_stream || per_thread_stream->context != context) {
			per_thread_stream = sim_stream_new(context, 0, 0);
			per_thread_stream->is_per_thread = true;
		}
		return per_thread_stream;
	}
	return context->null_stream;
}

static CUresult create(CUstream *stream, unsigned flags, int priority)
{
	CUcontext context = sim_current_context();
	struct sim_resource resource = {.cbid = CUPTI_CBID_RESOURCE_STREAM_CREATED,
					.context = context};

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (priority > LEAST_PRIORITY)
		priority = LEAST_PRIORITY;
	if (priority < GREATEST_PRIORITY)
		priority = GREATEST_PRIORITY;
	pthread_mutex_lock(&sim_lock);
	*stream = sim_stream_new(context, flags, priority);
	pthread_mutex_unlock(&sim_lock);
	resource.stream = *stream;
	sim_tools_resource(&resource);
	return CUDA_SUCCESS;
}

CUresult run_cuStreamCreate(const cuStreamCreate_params *params)
{
	return create(params->phStream, params->Flags, 0);
}

CUresult run_cuStreamCreateWithPriority(const cuStreamCreateWithPriority_params *params)
{
	return create(params->phStream, params->flags, params->priority);
}

CUresult run_cuCtxGetStreamPriorityRange(const cuCtxGetStreamPriorityRange_params *params)
{
	if (params->leastPriority)
		*params->leastPriority = LEAST_PRIORITY;
	if (params->greatestPriority)
		*params->greatestPriority = GREATEST_PRIORITY;
	return CUDA_SUCCESS;
}

CUresult run_cuStreamDestroy_v2(const cuStreamDestroy_v2_params *params)
{
	struct sim_resource resource = {.cbid = CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
					.stream = params->hStream};

	if (!params->hStream)
		return CUDA_ERROR_INVALID_HANDLE;
	resource.context = params->hStream->context;
	sim_tools_resource(&resource);
	pthread_mutex_lock(&sim_lock);
	params->hStream->is_destroyed = true;
	pthread_cond_broadcast(&sim_submitted);
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}

CUresult run_cuStreamGetPriority(const cuStreamGetPriority_params *params)
{
	CUstream stream = sim_resolve_stream(params->hStream);

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	*params->priority = stream->priority;
	return CUDA_SUCCESS;
}

CUresult run_cuStreamGetFlags(const cuStreamGetFlags_params *params)
{
	CUstream stream = sim_resolve_stream(params->hStream);

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	*params->flags = stream->flags;
	return CUDA_SUCCESS;
}

CUresult run_cuStreamGetCtx(const cuStreamGetCtx_params *params)
{
	CUstream stream = sim_resolve_stream(params->hStream);

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	*params->pctx = stream->context;
	return CUDA_SUCCESS;
}

CUresult run_cuStreamGetId(const cuStreamGetId_params *params)
{
	CUstream stream = sim_resolve_stream(params->hStream);

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	*params->streamId = stream->id;
	return CUDA_SUCCESS;
}

CUresult run_cuStreamQuery(const cuStreamQuery_params *params)
{
	CUstream stream = sim_resolve_stream(params->hStream);
	CUresult result;

	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&sim_lock);
	result = stream->head ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
	pthread_mutex_unlock(&sim_lock);
	return result;
}

/* A wait of the calling thread, or of a stream: one SYNCHRONIZATION record. */
static void sync_begin(struct sim_activity *activity, enum sim_sync type, CUcontext context)
{
	*activity = (struct sim_activity){.kind = SIM_SYNC, .stream_id = UINT32_MAX};
	activity->sync.type = type;
	activity->sync.event_id = SIM_NO_EVENT;
	activity->sync.event_sync_id = UINT64_MAX;
	activity->context_id = context->id;
	activity->device = (uint32_t)context->device->ordinal;
	activity->start_ns = sim_now_ns();
	sim_truth_activity(activity);
	sim_tools_submit(activity);
}

static void sync_end(struct sim_activity *activity)
{
	activity->end_ns = sim_now_ns();
	sim_tools_done(activity);
}

CUresult run_cuStreamSynchronize(const cuStreamSynchronize_params *params)
{
	struct sim_activity activity;
	CUstream stream;

	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(params->hStream);
	pthread_mutex_unlock(&sim_lock);
	if (!stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	sync_begin(&activity, SIM_SYNC_STREAM, stream->context);
	activity.stream_id = stream->id;
	pthread_mutex_lock(&sim_lock);
	sim_stream_wait(stream);
	pthread_mutex_unlock(&sim_lock);
	sync_end(&activity);
	sim_tools_synchronized(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, stream->context,
			       params->hStream);
	return CUDA_SUCCESS;
}

CUresult run_cuEventCreate(const cuEventCreate_params *params)
{
	CUcontext context = sim_current_context();
	CUevent event;

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	event = calloc(1, sizeof(*event));
	event->id = __atomic_add_fetch(&last_event_id, 1, __ATOMIC_RELAXED);
	event->flags = params->Flags;
	event->context = context;
	*params->phEvent = event;
	return CUDA_SUCCESS;
}

CUresult run_cuEventDestroy_v2(const cuEventDestroy_v2_params *params)
{
	if (!params->hEvent)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&sim_lock);
	sim_point_put(params->hEvent->point);
	pthread_mutex_unlock(&sim_lock);
	free(params->hEvent);
	return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream handle)
{
	struct sim_work *work;
	CUstream stream;

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(handle);
	if (!stream || sim_capture_event_record(stream, event)) {
		pthread_mutex_unlock(&sim_lock);
		return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
	}
	work = sim_work_new(stream, SIM_EVENT);
	work->activity.event.event_id = event->id;
	work->activity.event.sync_id = ++last_sync_id;
	work->is_recorded = true;
	event->sync_id = work->activity.event.sync_id;
	event->capture = NULL;
	sim_point_put(event->point);
	event->point = sim_point_get(work->point);
	sim_truth_activity(&work->activity);
	sim_tools_submit(&work->activity);
	sim_work_submit(work);
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}

CUresult run_cuEventRecord(const cuEventRecord_params *params)
{
	return record(params->hEvent, params->hStream);
}

CUresult run_cuEventRecordWithFlags(const cuEventRecordWithFlags_params *params)
{
	return record(params->hEvent, params->hStream);
}

CUresult run_cuEventQuery(const cuEventQuery_params *params)
{
	CUresult result;

	if (!params->hEvent)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&sim_lock);
	result = params->hEvent->point && !params->hEvent->point->is_done ? CUDA_ERROR_NOT_READY
									  : CUDA_SUCCESS;
	pthread_mutex_unlock(&sim_lock);
	return result;
}

CUresult run_cuEventSynchronize(const cuEventSynchronize_params *params)
{
	CUevent event = params->hEvent;
	struct sim_activity activity;

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	sync_begin(&activity, SIM_SYNC_EVENT, event->context);
	activity.sync.event_id = event->id;
	activity.sync.event_sync_id = event->sync_id;
	pthread_mutex_lock(&sim_lock);
	if (event->point)
		sim_point_wait(event->point);
	pthread_mutex_unlock(&sim_lock);
	sync_end(&activity);
	return CUDA_SUCCESS;
}

static CUresult elapsed(float *milliseconds, CUevent start, CUevent end)
{
	if (!start || !end || !start->point || !end->point)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!start->point->is_done || !end->point->is_done)
		return CUDA_ERROR_NOT_READY;
	*milliseconds =
		(float)((double)(int64_t)(end->point->time_ns - start->point->time_ns) / 1e6);
	return CUDA_SUCCESS;
}

CUresult run_cuEventElapsedTime(const cuEventElapsedTime_params *params)
{
	return elapsed(params->pMilliseconds, params->hStart, params->hEnd);
}

CUresult run_cuEventElapsedTime_v2(const cuEventElapsedTime_v2_params *params)
{
	return elapsed(params->pMilliseconds, params->hStart, params->hEnd);
}

CUresult run_cuStreamWaitEvent(const cuStreamWaitEvent_params *params)
{
	CUevent event = params->hEvent;
	struct sim_activity activity;
	struct sim_work *work;
	CUstream stream;

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(params->hStream);
	if (!stream || sim_capture_event_wait(stream, event)) {
		pthread_mutex_unlock(&sim_lock);
		return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
	}
	work = sim_work_new(stream, SIM_SYNC);
	sim_work_add_dependency(work, event->point);
	sim_work_submit(work);
	pthread_mutex_unlock(&sim_lock);
	sync_begin(&activity, SIM_SYNC_WAIT_EVENT, stream->context);
	activity.stream_id = stream->id;
	activity.sync.event_id = event->id;
	activity.sync.event_sync_id = event->sync_id;
	sync_end(&activity);
	return CUDA_SUCCESS;
}

CUresult run_cuLaunchHostFunc(const cuLaunchHostFunc_params *params)
{
	struct sim_work *work;
	CUstream stream;

	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(params->hStream);
	if (stream) {
		work = sim_work_new(stream, SIM_SYNC);
		work->host_function = params->fn;
		work->host_data = params->userData;
		if (!sim_capture_work(work))
			sim_work_submit(work);
	}
	pthread_mutex_unlock(&sim_lock);
	return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
