/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies and sets. They take time and are counted; no byte is moved. */
#include <string.h>
#include "driver.h"

#define SETUP_NS 1500

enum copy_kind {
	COPY_HTOD = 1,
	COPY_DTOH = 2,
	COPY_DTOD = 8,
	COPY_HTOH = 9,
	COPY_PTOP = 10,
};

/* Bytes a microsecond. */
static const unsigned rate[] = {
	[COPY_HTOD] = 25000, [COPY_DTOH] = 24000,  [COPY_DTOD] = 1500000,
	[COPY_HTOH] = 10000, [COPY_PTOP] = 300000,
};
#define SET_RATE 2500000

static bool is_device(uint8_t kind)
{
	return kind == 3 || kind == 5;
}

static enum copy_kind kind_of(const struct sim_range *source, const struct sim_range *destination)
{
	if (is_device(source->kind) && is_device(destination->kind))
		return source->device == destination->device ? COPY_DTOD : COPY_PTOP;
	if (is_device(source->kind))
		return COPY_DTOH;
	return is_device(destination->kind) ? COPY_HTOD : COPY_HTOH;
}

/* Pageable memory goes through a buffer of the driver's, for which an asynchronous copy waits. */
static bool waits_for_pages(const struct sim_range *source, const struct sim_range *destination)
{
	return (source->kind == 1 || destination->kind == 1) && sim_knob("pageable_waits", 0);
}

/* Takes the lock for the whole of it. kind 0: by the addresses. */
static CUresult copy(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream handle,
		     bool async, unsigned kind)
{
	struct sim_range from, to;
	struct sim_point *point;
	struct sim_work *work;
	CUstream stream;

	if (!bytes)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(handle);
	if (!stream) {
		pthread_mutex_unlock(&sim_lock);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	from = sim_memory_find(source);
	to = sim_memory_find(destination);
	if (!kind)
		kind = kind_of(&from, &to);
	work = sim_work_new(stream, SIM_MEMCPY);
	work->is_recorded = true;
	work->activity.channel_type = SIM_CHANNEL_COPY;
	work->activity.memcpy.copy_kind = (uint8_t)kind;
	work->activity.memcpy.source_kind = from.kind;
	work->activity.memcpy.destination_kind = to.kind;
	work->activity.memcpy.async = async;
	work->activity.memcpy.bytes = bytes;
	work->activity.memcpy.source_device = from.device ? (uint32_t)from.device->ordinal : 0;
	work->activity.memcpy.destination_device = to.device ? (uint32_t)to.device->ordinal : 0;
	work->activity.memcpy.source_context = work->activity.context_id;
	work->activity.memcpy.destination_context = work->activity.context_id;
	work->duration_ns = SETUP_NS + bytes * 1000 / rate[kind];
	if (kind == COPY_HTOD || kind == COPY_DTOH)
		work->engine = kind == COPY_HTOD ? SIM_ENGINE_HTOD : SIM_ENGINE_DTOH;
	if (!sim_capture_work(work)) {
		sim_managed_access(source, work->activity.device);
		sim_managed_access(destination, work->activity.device);
		sim_truth_activity(&work->activity);
		sim_tools_submit(&work->activity);
		point = sim_point_get(work->point);
		sim_work_submit(work);
		if (!async || waits_for_pages(&from, &to))
			sim_point_wait(point);
		sim_point_put(point);
	}
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}

#define ADDRESS(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

CUresult run_cuMemcpy(const cuMemcpy_params *params)
{
	return copy(params->dst, params->src, params->ByteCount, NULL, false, 0);
}

CUresult run_cuMemcpyAsync(const cuMemcpyAsync_params *params)
{
	return copy(params->dst, params->src, params->ByteCount, params->hStream, true, 0);
}

CUresult run_cuMemcpyHtoD_v2(const cuMemcpyHtoD_v2_params *params)
{
	return copy(params->dstDevice, ADDRESS(params->srcHost), params->ByteCount, NULL, false,
		    COPY_HTOD);
}

CUresult run_cuMemcpyDtoH_v2(const cuMemcpyDtoH_v2_params *params)
{
	return copy(ADDRESS(params->dstHost), params->srcDevice, params->ByteCount, NULL, false,
		    COPY_DTOH);
}

/* Between memory of one device it does not block the host, as in reality. */
CUresult run_cuMemcpyDtoD_v2(const cuMemcpyDtoD_v2_params *params)
{
	return copy(params->dstDevice, params->srcDevice, params->ByteCount, NULL, true, COPY_DTOD);
}

CUresult run_cuMemcpyHtoDAsync_v2(const cuMemcpyHtoDAsync_v2_params *params)
{
	return copy(params->dstDevice, ADDRESS(params->srcHost), params->ByteCount, params->hStream,
		    true, COPY_HTOD);
}

CUresult run_cuMemcpyDtoHAsync_v2(const cuMemcpyDtoHAsync_v2_params *params)
{
	return copy(ADDRESS(params->dstHost), params->srcDevice, params->ByteCount, params->hStream,
		    true, COPY_DTOH);
}

CUresult run_cuMemcpyDtoDAsync_v2(const cuMemcpyDtoDAsync_v2_params *params)
{
	return copy(params->dstDevice, params->srcDevice, params->ByteCount, params->hStream, true,
		    COPY_DTOD);
}

CUresult run_cuMemcpyPeer(const cuMemcpyPeer_params *params)
{
	return copy(params->dstDevice, params->srcDevice, params->ByteCount, NULL, false,
		    COPY_PTOP);
}

CUresult run_cuMemcpyPeerAsync(const cuMemcpyPeerAsync_params *params)
{
	return copy(params->dstDevice, params->srcDevice, params->ByteCount, params->hStream, true,
		    COPY_PTOP);
}

static CUresult set(CUdeviceptr destination, uint32_t value, size_t bytes, CUstream handle,
		    bool async)
{
	struct sim_work *work;
	CUstream stream;

	if (!bytes)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(handle);
	if (!stream) {
		pthread_mutex_unlock(&sim_lock);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	work = sim_work_new(stream, SIM_MEMSET);
	work->is_recorded = true;
	work->activity.memset.value = value;
	work->activity.memset.bytes = bytes;
	work->activity.memset.memory_kind = sim_memory_find(destination).kind;
	work->activity.memset.async = async;
	work->duration_ns = SETUP_NS + bytes * 1000 / SET_RATE;
	if (!sim_capture_work(work)) {
		sim_managed_access(destination, work->activity.device);
		sim_truth_activity(&work->activity);
		sim_tools_submit(&work->activity);
		sim_work_submit(work);
	}
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}

CUresult run_cuMemsetD8_v2(const cuMemsetD8_v2_params *params)
{
	return set(params->dstDevice, params->uc, params->N, NULL, false);
}

CUresult run_cuMemsetD16_v2(const cuMemsetD16_v2_params *params)
{
	return set(params->dstDevice, params->us, params->N * 2, NULL, false);
}

CUresult run_cuMemsetD32_v2(const cuMemsetD32_v2_params *params)
{
	return set(params->dstDevice, params->ui, params->N * 4, NULL, false);
}

CUresult run_cuMemsetD8Async(const cuMemsetD8Async_params *params)
{
	return set(params->dstDevice, params->uc, params->N, params->hStream, true);
}

CUresult run_cuMemsetD16Async(const cuMemsetD16Async_params *params)
{
	return set(params->dstDevice, params->us, params->N * 2, params->hStream, true);
}

CUresult run_cuMemsetD32Async(const cuMemsetD32Async_params *params)
{
	return set(params->dstDevice, params->ui, params->N * 4, params->hStream, true);
}
