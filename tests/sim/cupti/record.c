/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records, written field by field into the newest layout; a release has the part that its size covers. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cupti_sim.h"

enum {
#define SIM_FIELD(record, field, offset, size) \
	AT_##record##_##field = offset, SIZE_##record##_##field = size,
#include "layouts.def"
};

struct draft {
	uint8_t bytes[SIM_MAX_RECORD];
};

static void put_bytes(struct draft *draft, size_t offset, size_t size, uint64_t value)
{
	memcpy(draft->bytes + offset, &value, size);
}

#define PUT(draft, record, field, value) \
	put_bytes(draft, AT_##record##_##field, SIZE_##record##_##field, (uint64_t)(value))

static void append_to(struct draft *draft, unsigned kind, bool is_own, unsigned subscribers)
{
	uint32_t number = kind;
	size_t size = sim_record_size(kind);

	memcpy(draft->bytes, &number, sizeof(number));
	if (size)
		sim_buffer_append(draft->bytes, size, is_own, subscribers);
}

/* To all that have this kind on. */
static void append(struct draft *draft, unsigned kind, bool is_own)
{
	append_to(draft, kind, is_own, sim_state.kinds[kind]);
}

uint32_t sim_thread_id(void)
{
	if (sim_state.thread_id_type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return (uint32_t)syscall(SYS_gettid);
	return (uint32_t)pthread_self();
}

static bool is_on(unsigned kind)
{
	return sim_state.kinds[kind];
}

static unsigned kind_of(const struct sim_activity *activity)
{
	switch (activity->kind) {
	case SIM_KERNEL:
		if (is_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
			return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
		return is_on(CUPTI_ACTIVITY_KIND_KERNEL) ? CUPTI_ACTIVITY_KIND_KERNEL : 0;
	case SIM_MEMCPY:
		if (activity->memcpy.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP)
			return is_on(CUPTI_ACTIVITY_KIND_MEMCPY2) ? CUPTI_ACTIVITY_KIND_MEMCPY2 : 0;
		return is_on(CUPTI_ACTIVITY_KIND_MEMCPY) ? CUPTI_ACTIVITY_KIND_MEMCPY : 0;
	case SIM_MEMSET:
		return is_on(CUPTI_ACTIVITY_KIND_MEMSET) ? CUPTI_ACTIVITY_KIND_MEMSET : 0;
	case SIM_GRAPH:
		return is_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) ? CUPTI_ACTIVITY_KIND_GRAPH_TRACE : 0;
	case SIM_SYNC:
		return is_on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)
			       ? CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
			       : 0;
	case SIM_EVENT:
		return is_on(CUPTI_ACTIVITY_KIND_CUDA_EVENT) ? CUPTI_ACTIVITY_KIND_CUDA_EVENT : 0;
	case SIM_MEMORY:
		return is_on(CUPTI_ACTIVITY_KIND_MEMORY2) ? CUPTI_ACTIVITY_KIND_MEMORY2 : 0;
	case SIM_POOL:
		return is_on(CUPTI_ACTIVITY_KIND_MEMORY_POOL) ? CUPTI_ACTIVITY_KIND_MEMORY_POOL : 0;
	case SIM_MANAGED:
		return is_on(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)
			       ? CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER
			       : 0;
	default:
		return 0;
	}
}

unsigned sim_wanted_kind(const struct sim_activity *activity)
{
	/* The record of the launch as a whole stands for its nodes. */
	if (activity->kind != SIM_GRAPH && activity->graph_id &&
	    is_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
		return 0;
	return kind_of(activity);
}

/* Invalid ids are all ones to 13.1, 0 since. */
static uint32_t stream_id(uint32_t id)
{
	return id == UINT32_MAX && sim_version()->code >= 13020 ? 0 : id;
}

static void put_kernel(struct draft *draft, const struct sim_activity *activity, uint64_t start_ns,
		       uint64_t end_ns)
{
	static atomic_ulong last_grid_id;

	PUT(draft, KERNEL, registersPerThread, activity->kernel.registers);
	PUT(draft, KERNEL, start, start_ns);
	PUT(draft, KERNEL, end, end_ns);
	PUT(draft, KERNEL, deviceId, activity->device);
	PUT(draft, KERNEL, contextId, activity->context_id);
	PUT(draft, KERNEL, streamId, activity->stream_id);
	PUT(draft, KERNEL, gridX, activity->kernel.grid[0]);
	PUT(draft, KERNEL, gridY, activity->kernel.grid[1]);
	PUT(draft, KERNEL, gridZ, activity->kernel.grid[2]);
	PUT(draft, KERNEL, blockX, activity->kernel.block[0]);
	PUT(draft, KERNEL, blockY, activity->kernel.block[1]);
	PUT(draft, KERNEL, blockZ, activity->kernel.block[2]);
	PUT(draft, KERNEL, staticSharedMemory, activity->kernel.static_shared_bytes);
	PUT(draft, KERNEL, dynamicSharedMemory, activity->kernel.dynamic_shared_bytes);
	PUT(draft, KERNEL, localMemoryPerThread, activity->kernel.local_bytes);
	PUT(draft, KERNEL, correlationId, activity->correlation);
	PUT(draft, KERNEL, gridId, atomic_fetch_add(&last_grid_id, 1) + 1);
	PUT(draft, KERNEL, name, (uintptr_t)activity->kernel.name);
	PUT(draft, KERNEL, launchType, activity->kernel.cooperative);
	PUT(draft, KERNEL, graphNodeId, activity->graph_node_id);
	PUT(draft, KERNEL, graphId, activity->graph_id);
	PUT(draft, KERNEL, channelID, activity->channel_id);
	PUT(draft, KERNEL, channelType, activity->channel_type);
	PUT(draft, KERNEL, priority, activity->priority);
	PUT(draft, KERNEL, executionModel, 1);
	if (sim_state.latency_timestamps) {
		PUT(draft, KERNEL, queued, sim_clock_device(activity->queued_ns));
		PUT(draft, KERNEL, submitted, sim_clock_device(activity->submitted_ns));
	}
}

static void put_copy(struct draft *draft, const struct sim_activity *activity, uint64_t start_ns,
		     uint64_t end_ns)
{
	PUT(draft, MEMCPY, copyKind, activity->memcpy.copy_kind);
	PUT(draft, MEMCPY, srcKind, activity->memcpy.source_kind);
	PUT(draft, MEMCPY, dstKind, activity->memcpy.destination_kind);
	PUT(draft, MEMCPY, flags, activity->memcpy.async);
	PUT(draft, MEMCPY, bytes, activity->memcpy.bytes);
	PUT(draft, MEMCPY, start, start_ns);
	PUT(draft, MEMCPY, end, end_ns);
	PUT(draft, MEMCPY, deviceId, activity->device);
	PUT(draft, MEMCPY, contextId, activity->context_id);
	PUT(draft, MEMCPY, streamId, activity->stream_id);
	PUT(draft, MEMCPY, correlationId, activity->correlation);
	PUT(draft, MEMCPY, graphNodeId, activity->graph_node_id);
	PUT(draft, MEMCPY, graphId, activity->graph_id);
	PUT(draft, MEMCPY, channelID, activity->channel_id);
	PUT(draft, MEMCPY, channelType, activity->channel_type);
	PUT(draft, MEMCPY, copyCount, 1);
}

static void put_peer_copy(struct draft *draft, const struct sim_activity *activity,
			  uint64_t start_ns, uint64_t end_ns)
{
	PUT(draft, MEMCPY2, copyKind, activity->memcpy.copy_kind);
	PUT(draft, MEMCPY2, srcKind, activity->memcpy.source_kind);
	PUT(draft, MEMCPY2, dstKind, activity->memcpy.destination_kind);
	PUT(draft, MEMCPY2, flags, activity->memcpy.async);
	PUT(draft, MEMCPY2, bytes, activity->memcpy.bytes);
	PUT(draft, MEMCPY2, start, start_ns);
	PUT(draft, MEMCPY2, end, end_ns);
	PUT(draft, MEMCPY2, deviceId, activity->device);
	PUT(draft, MEMCPY2, contextId, activity->context_id);
	PUT(draft, MEMCPY2, streamId, activity->stream_id);
	PUT(draft, MEMCPY2, srcDeviceId, activity->memcpy.source_device);
	PUT(draft, MEMCPY2, srcContextId, activity->memcpy.source_context);
	PUT(draft, MEMCPY2, dstDeviceId, activity->memcpy.destination_device);
	PUT(draft, MEMCPY2, dstContextId, activity->memcpy.destination_context);
	PUT(draft, MEMCPY2, correlationId, activity->correlation);
	PUT(draft, MEMCPY2, graphNodeId, activity->graph_node_id);
	PUT(draft, MEMCPY2, graphId, activity->graph_id);
	PUT(draft, MEMCPY2, channelID, activity->channel_id);
	PUT(draft, MEMCPY2, channelType, activity->channel_type);
}

static void put_set(struct draft *draft, const struct sim_activity *activity, uint64_t start_ns,
		    uint64_t end_ns)
{
	PUT(draft, MEMSET, value, activity->memset.value);
	PUT(draft, MEMSET, bytes, activity->memset.bytes);
	PUT(draft, MEMSET, start, start_ns);
	PUT(draft, MEMSET, end, end_ns);
	PUT(draft, MEMSET, deviceId, activity->device);
	PUT(draft, MEMSET, contextId, activity->context_id);
	PUT(draft, MEMSET, streamId, activity->stream_id);
	PUT(draft, MEMSET, correlationId, activity->correlation);
	PUT(draft, MEMSET, flags, activity->memset.async);
	PUT(draft, MEMSET, memoryKind, activity->memset.memory_kind);
	PUT(draft, MEMSET, graphNodeId, activity->graph_node_id);
	PUT(draft, MEMSET, graphId, activity->graph_id);
	PUT(draft, MEMSET, channelID, activity->channel_id);
	PUT(draft, MEMSET, channelType, activity->channel_type);
}

static void put_sync(struct draft *draft, const struct sim_activity *activity, uint64_t start_ns,
		     uint64_t end_ns)
{
	PUT(draft, SYNCHRONIZATION, type, activity->sync.type);
	PUT(draft, SYNCHRONIZATION, start, start_ns);
	PUT(draft, SYNCHRONIZATION, end, end_ns);
	PUT(draft, SYNCHRONIZATION, correlationId, activity->correlation);
	PUT(draft, SYNCHRONIZATION, contextId, activity->context_id);
	/* "not applicable" is all ones in every release */
	PUT(draft, SYNCHRONIZATION, streamId, activity->stream_id);
	PUT(draft, SYNCHRONIZATION, cudaEventId, activity->sync.event_id);
	PUT(draft, SYNCHRONIZATION, cudaEventSyncId, activity->sync.event_sync_id);
	PUT(draft, SYNCHRONIZATION, returnValue, activity->sync.result);
}

static void put_graph(struct draft *draft, const struct sim_activity *activity, uint64_t start_ns,
		      uint64_t end_ns)
{
	PUT(draft, GRAPH_TRACE, correlationId, activity->correlation);
	PUT(draft, GRAPH_TRACE, start, start_ns);
	PUT(draft, GRAPH_TRACE, end, end_ns);
	PUT(draft, GRAPH_TRACE, deviceId, activity->device);
	PUT(draft, GRAPH_TRACE, graphId, activity->graph_id);
	PUT(draft, GRAPH_TRACE, contextId, activity->context_id);
	PUT(draft, GRAPH_TRACE, streamId, activity->stream_id);
	PUT(draft, GRAPH_TRACE, endDeviceId, activity->device);
	PUT(draft, GRAPH_TRACE, endContextId, activity->context_id);
}

static void put_event(struct draft *draft, const struct sim_activity *activity, uint64_t start_ns,
		      uint64_t end_ns)
{
	PUT(draft, CUDA_EVENT, correlationId, activity->correlation);
	PUT(draft, CUDA_EVENT, contextId, activity->context_id);
	PUT(draft, CUDA_EVENT, streamId, activity->stream_id);
	PUT(draft, CUDA_EVENT, eventId, activity->event.event_id);
	PUT(draft, CUDA_EVENT, deviceId, activity->device);
	if (sim_state.event_timestamps)
		PUT(draft, CUDA_EVENT, deviceTimestamp, end_ns);
	PUT(draft, CUDA_EVENT, cudaEventSyncId, activity->event.sync_id);
}

static void put_memory(struct draft *draft, const struct sim_activity *activity, uint64_t start_ns,
		       uint64_t end_ns)
{
	PUT(draft, MEMORY2, memoryOperationType, activity->memory.is_release ? 2 : 1);
	PUT(draft, MEMORY2, memoryKind, activity->memory.memory_kind);
	PUT(draft, MEMORY2, correlationId, activity->correlation);
	PUT(draft, MEMORY2, address, activity->memory.address);
	PUT(draft, MEMORY2, bytes, activity->memory.bytes);
	PUT(draft, MEMORY2, timestamp, start_ns);
	PUT(draft, MEMORY2, PC, activity->memory.pc);
	PUT(draft, MEMORY2, processId, getpid());
	PUT(draft, MEMORY2, deviceId, activity->device);
	PUT(draft, MEMORY2, contextId, activity->context_id);
	PUT(draft, MEMORY2, streamId, stream_id(activity->stream_id));
	PUT(draft, MEMORY2, isAsync, activity->memory.async);
	if (!activity->memory.from_pool)
		return;
	PUT(draft, MEMORY2, poolType, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
	PUT(draft, MEMORY2, poolAddress, activity->memory.pool.address);
	PUT(draft, MEMORY2, poolThreshold, activity->memory.pool.release_threshold);
	PUT(draft, MEMORY2, poolSize, activity->memory.pool.size_bytes);
	PUT(draft, MEMORY2, poolUsed, activity->memory.pool.used_bytes);
}

static void put_pool(struct draft *draft, const struct sim_activity *activity, uint64_t start_ns,
		     uint64_t end_ns)
{
	PUT(draft, MEMORY_POOL, memoryPoolOperationType, activity->pool.operation);
	PUT(draft, MEMORY_POOL, memoryPoolType, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
	PUT(draft, MEMORY_POOL, correlationId, activity->correlation);
	PUT(draft, MEMORY_POOL, processId, getpid());
	PUT(draft, MEMORY_POOL, deviceId, activity->device);
	PUT(draft, MEMORY_POOL, minBytesToKeep, activity->pool.min_keep_bytes);
	PUT(draft, MEMORY_POOL, address, activity->pool.state.address);
	PUT(draft, MEMORY_POOL, size, activity->pool.state.size_bytes);
	PUT(draft, MEMORY_POOL, releaseThreshold, activity->pool.state.release_threshold);
	PUT(draft, MEMORY_POOL, timestamp, start_ns);
	PUT(draft, MEMORY_POOL, utilizedSize, activity->pool.state.used_bytes);
}

static void put_managed(struct draft *draft, const struct sim_activity *activity, uint64_t start_ns,
			uint64_t end_ns)
{
	PUT(draft, MANAGED, counterKind, activity->managed.counter);
	PUT(draft, MANAGED, value, activity->managed.value);
	PUT(draft, MANAGED, start, start_ns);
	PUT(draft, MANAGED, end, end_ns);
	PUT(draft, MANAGED, address, activity->managed.address);
	PUT(draft, MANAGED, srcId, activity->managed.source);
	PUT(draft, MANAGED, dstId, activity->managed.destination);
	PUT(draft, MANAGED, streamId, stream_id(activity->stream_id));
	PUT(draft, MANAGED, processId, getpid());
	PUT(draft, MANAGED, flags, activity->managed.flags);
}

typedef void (*put_function)(struct draft *draft, const struct sim_activity *activity,
			     uint64_t start_ns, uint64_t end_ns);

static const put_function put_functions[] = {
	[SIM_KERNEL] = put_kernel, [SIM_MEMCPY] = put_copy, [SIM_MEMSET] = put_set,
	[SIM_GRAPH] = put_graph,   [SIM_SYNC] = put_sync,   [SIM_EVENT] = put_event,
	[SIM_MEMORY] = put_memory, [SIM_POOL] = put_pool,   [SIM_MANAGED] = put_managed,
};

/* The knob zero_timestamps=N: of each N pieces of work on devices one was not measured. */
static bool is_unmeasured(const struct sim_activity *activity)
{
	static atomic_ulong count;
	uint64_t every = sim_cupti_knob("zero_timestamps", 0);

	return every && activity->kind <= SIM_GRAPH && atomic_fetch_add(&count, 1) % every == 0;
}

void sim_record_activity(const struct sim_activity *activity)
{
	unsigned kind = activity->record_kind;
	struct draft draft = {0};
	uint64_t start_ns, end_ns, error_ns;

	start_ns = sim_clock_device(activity->start_ns);
	end_ns = sim_clock_device(activity->end_ns);
	if (activity->kind == SIM_KERNEL) {
		error_ns = sim_clock_error();
		start_ns += error_ns;
		end_ns += error_ns;
	}
	if (is_unmeasured(activity))
		start_ns = end_ns = 0;
	if (kind == CUPTI_ACTIVITY_KIND_MEMCPY2)
		put_peer_copy(&draft, activity, start_ns, end_ns);
	else
		put_functions[activity->kind](&draft, activity, start_ns, end_ns);
	append_to(&draft, kind, false, activity->subscribers);
}

/* The knob call_record_ns=N: the record of a call takes the thread that makes the call so much CPU time more. */
static void spend(void)
{
	uint64_t limit_ns = sim_cupti_knob("call_record_ns", 0);
	struct timespec begin, now;

	if (!limit_ns)
		return;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((uint64_t)(now.tv_sec - begin.tv_sec) * 1000000000ull + (uint64_t)now.tv_nsec -
		       (uint64_t)begin.tv_nsec <
	       limit_ns);
}

void sim_record_call(const struct sim_call *call, uint64_t end_ns)
{
	struct draft draft = {0};

	if (call->site->domain == SIM_DOMAIN_DRIVER &&
	    call->site->cbid == CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion &&
	    sim_cupti_knob("mute_version", 0))
		return;
	spend();
	PUT(&draft, API, cbid, call->site->cbid);
	PUT(&draft, API, start, call->start_ns);
	PUT(&draft, API, end, end_ns);
	PUT(&draft, API, processId, getpid());
	PUT(&draft, API, threadId, sim_thread_id());
	PUT(&draft, API, correlationId, call->correlation);
	PUT(&draft, API, returnValue, call->result);
	append_to(&draft,
		  call->site->domain == SIM_DOMAIN_DRIVER ? CUPTI_ACTIVITY_KIND_DRIVER
							  : CUPTI_ACTIVITY_KIND_RUNTIME,
		  true, sim_state.api_on[call->site->domain][call->site->cbid]);
}

void sim_record_external(unsigned kind, uint64_t id, uint32_t correlation)
{
	struct draft draft = {0};

	PUT(&draft, EXTERNAL_CORRELATION, externalKind, kind);
	PUT(&draft, EXTERNAL_CORRELATION, externalId, id);
	PUT(&draft, EXTERNAL_CORRELATION, correlationId, correlation);
	append(&draft, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, true);
}

void sim_record_device(const struct sim_device_facts *facts, uint32_t id)
{
	static struct sim_device_facts kept[SIM_MAX_DEVICES]; /* the record points to the name */
	struct draft draft = {0};

	kept[id] = *facts;
	PUT(&draft, DEVICE, globalMemoryBandwidth, facts->bandwidth_kb_per_s);
	PUT(&draft, DEVICE, globalMemorySize, facts->memory_bytes);
	PUT(&draft, DEVICE, l2CacheSize, facts->l2_bytes);
	PUT(&draft, DEVICE, numThreadsPerWarp, 32);
	PUT(&draft, DEVICE, coreClockRate, facts->clock_khz);
	PUT(&draft, DEVICE, numMemcpyEngines, 3);
	PUT(&draft, DEVICE, numMultiprocessors, facts->multiprocessors);
	PUT(&draft, DEVICE, maxWarpsPerMultiprocessor, 64);
	PUT(&draft, DEVICE, maxBlocksPerMultiprocessor, 32);
	PUT(&draft, DEVICE, maxSharedMemoryPerMultiprocessor, 228 * 1024);
	PUT(&draft, DEVICE, maxRegistersPerMultiprocessor, 65536);
	PUT(&draft, DEVICE, maxThreadsPerBlock, 1024);
	PUT(&draft, DEVICE, computeCapabilityMajor, facts->capability_major);
	PUT(&draft, DEVICE, computeCapabilityMinor, facts->capability_minor);
	PUT(&draft, DEVICE, id, id);
	memcpy(draft.bytes + 120, facts->uuid, sizeof(facts->uuid));
	PUT(&draft, DEVICE, name, (uintptr_t)kept[id].name);
	PUT(&draft, DEVICE, isCudaVisible, 1);
	append(&draft, CUPTI_ACTIVITY_KIND_DEVICE, true);
}

void sim_record_context(const struct sim_context_facts *facts)
{
	struct draft draft = {0};

	PUT(&draft, CONTEXT, contextId, facts->id);
	PUT(&draft, CONTEXT, deviceId, facts->device);
	PUT(&draft, CONTEXT, computeApiKind, CUPTI_ACTIVITY_COMPUTE_API_CUDA);
	PUT(&draft, CONTEXT, nullStreamId, facts->null_stream_id);
	/* In padding before 12.5. */
	if (sim_version()->code >= 12050)
		PUT(&draft, CONTEXT, numMultiprocessors, 132);
	PUT(&draft, CONTEXT, processId, getpid());
	append(&draft, CUPTI_ACTIVITY_KIND_CONTEXT, true);
}

void sim_record_stream(const struct sim_stream_facts *facts, uint32_t correlation)
{
	struct draft draft = {0};

	PUT(&draft, STREAM, contextId, facts->context_id);
	PUT(&draft, STREAM, streamId, facts->id);
	PUT(&draft, STREAM, priority, facts->priority);
	PUT(&draft, STREAM, flag, facts->flag);
	PUT(&draft, STREAM, correlationId, correlation);
	append(&draft, CUPTI_ACTIVITY_KIND_STREAM, true);
}

void sim_record_overhead(unsigned kind, uint64_t start_ns, uint64_t end_ns)
{
	struct draft draft = {0};

	PUT(&draft, OVERHEAD, overheadKind, kind);
	PUT(&draft, OVERHEAD, objectKind, CUPTI_ACTIVITY_OBJECT_THREAD);
	PUT(&draft, OVERHEAD, objectProcess, getpid());
	PUT(&draft, OVERHEAD, objectThread, sim_thread_id());
	PUT(&draft, OVERHEAD, start, start_ns);
	PUT(&draft, OVERHEAD, end, end_ns);
	append(&draft, CUPTI_ACTIVITY_KIND_OVERHEAD, true);
}

static void append_environment(struct draft *draft, uint32_t device, unsigned kind)
{
	PUT(draft, ENVIRONMENT, deviceId, device);
	PUT(draft, ENVIRONMENT, timestamp, sim_clock_now());
	PUT(draft, ENVIRONMENT, environmentKind, kind);
	append(draft, CUPTI_ACTIVITY_KIND_ENVIRONMENT, false);
}

/* What differs from device to device is the temperature. */
static void record_environment(uint32_t device)
{
	struct draft speed = {0}, temperature = {0}, power = {0}, cooling = {0};

	PUT(&speed, ENVIRONMENT, smClock, sim_cupti_knob("sm_clock", 1980));
	PUT(&speed, ENVIRONMENT, memoryClock, sim_cupti_knob("memory_clock", 3201));
	append_environment(&speed, device, CUPTI_ACTIVITY_ENVIRONMENT_SPEED);
	PUT(&temperature, ENVIRONMENT, gpuTemperature, sim_cupti_knob("temperature", 40) + device);
	append_environment(&temperature, device, CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE);
	PUT(&power, ENVIRONMENT, power, sim_cupti_knob("power", 350000));
	PUT(&power, ENVIRONMENT, powerLimit, sim_cupti_knob("power_limit", 700000));
	append_environment(&power, device, CUPTI_ACTIVITY_ENVIRONMENT_POWER);
	PUT(&cooling, ENVIRONMENT, fanSpeed, sim_cupti_knob("fan_speed", 0));
	append_environment(&cooling, device, CUPTI_ACTIVITY_ENVIRONMENT_COOLING);
}

void sim_record_environment(void)
{
	struct sim_device_facts facts[SIM_MAX_DEVICES];
	size_t count;

	if (!is_on(CUPTI_ACTIVITY_KIND_ENVIRONMENT))
		return;
	count = sim_state.driver->devices(facts, SIM_MAX_DEVICES);
	for (size_t i = 0; i < count && i < SIM_MAX_DEVICES; i++)
		record_environment((uint32_t)i);
}
