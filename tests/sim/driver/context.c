/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cuInit, devices, contexts. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "driver.h"
#include <cupti_callbacks.h>

#define CONTEXT_STACK	    16
#define DEFAULT_VERSION	    13000
#define FIRST_NULL_STREAM   7
#define DEVICE_MEMORY_BYTES (80ull << 30)

struct sim_device sim_devices[SIM_MAX_DEVICES];
int sim_device_count;
struct CUctx_st *sim_contexts;
static bool is_initialized;
static bool is_forked;
static uint32_t last_context_id;
static uint32_t last_id = 12;
static __thread CUcontext stack[CONTEXT_STACK];
static __thread unsigned depth;

uint32_t sim_next_id(void)
{
	return __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
}

bool sim_is_forked(void)
{
	return is_forked;
}

bool sim_is_ready(void)
{
	return is_initialized && !is_forked;
}

/* As in reality: a child of fork cannot use what its parent initialized. */
static void after_fork_in_child(void)
{
	is_forked = true;
}

static void init_device(int ordinal)
{
	struct sim_device *device = &sim_devices[ordinal];
	const char *name = sim_knob_text("device_name");

	device->ordinal = ordinal;
	snprintf(device->facts.name, sizeof(device->facts.name), "%s",
		 name ? name : "Simulated H100 80GB HBM3");
	memcpy(device->facts.uuid, "gpuprobe-sim-dev", 16);
	device->facts.uuid[15] = (uint8_t)ordinal;
	device->facts.memory_bytes = DEVICE_MEMORY_BYTES;
	device->facts.bandwidth_kb_per_s = 3352320000ull;
	device->facts.multiprocessors = 132;
	device->facts.clock_khz = 1980000;
	device->facts.l2_bytes = 50u << 20;
	device->facts.capability_major = 9;
	device->facts.capability_minor = 0;
	device->pool.device = device;
	device->pool.address = 0x5100000000ull + (uint64_t)ordinal * 0x100;
}

static pthread_once_t injected = PTHREAD_ONCE_INIT;

/* As the driver does: a library of a tool, before the first cuInit returns. */
static void load_injection(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*initialize)(void) =
		library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;

	if (initialize)
		initialize();
}

CUresult run_cuInit(const cuInit_params *params)
{
	struct timespec pause;
	uint64_t init_ms;

	if (is_forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&sim_lock);
	if (!is_initialized) {
		init_ms = sim_knob("init_ms", 0);
		pause = (struct timespec){(time_t)(init_ms / 1000),
					  (long)(init_ms % 1000) * 1000000};
		nanosleep(&pause, NULL);
		sim_device_count = (int)sim_knob("devices", 2);
		if (sim_device_count > SIM_MAX_DEVICES)
			sim_device_count = SIM_MAX_DEVICES;
		for (int i = 0; i < sim_device_count; i++)
			init_device(i);
		pthread_atfork(NULL, NULL, after_fork_in_child);
		is_initialized = true;
	}
	pthread_mutex_unlock(&sim_lock);
	pthread_once(&injected, load_injection);
	return sim_device_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult run_cuDriverGetVersion(const cuDriverGetVersion_params *params)
{
	*params->driverVersion = (int)sim_knob("driver_version", DEFAULT_VERSION);
	return CUDA_SUCCESS;
}

static CUresult check_device(CUdevice device)
{
	if (!sim_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	return device >= 0 && device < sim_device_count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult run_cuDeviceGet(const cuDeviceGet_params *params)
{
	CUresult result = check_device(params->ordinal);

	if (!result)
		*params->device = params->ordinal;
	return result;
}

CUresult run_cuDeviceGetCount(const cuDeviceGetCount_params *params)
{
	if (!sim_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	*params->count = sim_device_count;
	return CUDA_SUCCESS;
}

CUresult run_cuDeviceGetName(const cuDeviceGetName_params *params)
{
	CUresult result = check_device(params->dev);

	if (!result && params->len > 0)
		snprintf(params->name, (size_t)params->len, "%s",
			 sim_devices[params->dev].facts.name);
	return result;
}

CUresult run_cuDeviceGetUuid_v2(const cuDeviceGetUuid_v2_params *params)
{
	CUresult result = check_device(params->dev);

	if (!result)
		memcpy(params->uuid->bytes, sim_devices[params->dev].facts.uuid,
		       sizeof(params->uuid->bytes));
	return result;
}

CUresult run_cuDeviceTotalMem_v2(const cuDeviceTotalMem_v2_params *params)
{
	CUresult result = check_device(params->dev);

	if (!result)
		*params->bytes = sim_devices[params->dev].facts.memory_bytes;
	return result;
}

static const struct {
	CUdevice_attribute attribute;
	int value;
} attributes[] = {
	{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
	{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
};

CUresult run_cuDeviceGetAttribute(const cuDeviceGetAttribute_params *params)
{
	CUresult result = check_device(params->dev);

	if (result)
		return result;
	*params->pi = 0;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].attribute == params->attrib)
			*params->pi = attributes[i].value;
	return CUDA_SUCCESS;
}

CUcontext sim_current_context(void)
{
	return depth ? stack[depth - 1] : NULL;
}

static void tell(uint32_t cbid, CUcontext context)
{
	struct sim_resource resource = {.cbid = cbid, .context = context};

	sim_tools_resource(&resource);
}

static CUcontext new_context(struct sim_device *device, bool is_primary)
{
	CUcontext context = calloc(1, sizeof(*context));

	pthread_mutex_lock(&sim_lock);
	context->id = ++last_context_id;
	context->device = device;
	context->is_primary = is_primary;
	context->references = 1;
	context->next = sim_contexts;
	sim_contexts = context;
	context->null_stream = sim_stream_new(context, 0, 0);
	context->null_stream->is_null = true;
	if (context->id == 1)
		context->null_stream->id = FIRST_NULL_STREAM;
	if (is_primary)
		device->primary = context;
	sim_device_start(device);
	pthread_mutex_unlock(&sim_lock);
	tell(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context);
	return context;
}

static void delete_context(CUcontext context)
{
	tell(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context);
	pthread_mutex_lock(&sim_lock);
	sim_context_wait(context);
	for (CUcontext *link = &sim_contexts; *link; link = &(*link)->next) {
		if (*link == context) {
			*link = context->next;
			break;
		}
	}
	if (context->is_primary)
		context->device->primary = NULL;
	while (context->streams) {
		CUstream stream = context->streams;

		context->streams = stream->next;
		sim_point_put(stream->last);
		free(stream);
	}
	pthread_mutex_unlock(&sim_lock);
	free(context);
}

CUresult run_cuDevicePrimaryCtxRetain(const cuDevicePrimaryCtxRetain_params *params)
{
	CUresult result = check_device(params->dev);
	static pthread_mutex_t create_lock = PTHREAD_MUTEX_INITIALIZER;
	struct sim_device *device;

	if (result)
		return result;
	device = &sim_devices[params->dev];
	pthread_mutex_lock(&create_lock);
	if (device->primary)
		device->primary->references++;
	else
		new_context(device, true);
	*params->pctx = device->primary;
	pthread_mutex_unlock(&create_lock);
	return CUDA_SUCCESS;
}

/* The primary context of a device stays: no program here counts on its end. */
CUresult run_cuDevicePrimaryCtxRelease_v2(const cuDevicePrimaryCtxRelease_v2_params *params)
{
	CUresult result = check_device(params->dev);

	if (result)
		return result;
	if (!sim_devices[params->dev].primary || !sim_devices[params->dev].primary->references)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_devices[params->dev].primary->references--;
	return CUDA_SUCCESS;
}

CUresult run_cuDevicePrimaryCtxGetState(const cuDevicePrimaryCtxGetState_params *params)
{
	CUresult result = check_device(params->dev);

	if (result)
		return result;
	*params->flags = 0;
	*params->active = sim_devices[params->dev].primary != NULL;
	return CUDA_SUCCESS;
}

static CUresult push(CUcontext context)
{
	if (depth == CONTEXT_STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = context;
	return CUDA_SUCCESS;
}

static CUresult create(CUcontext *context, CUdevice device)
{
	CUresult result = check_device(device);

	if (result)
		return result;
	*context = new_context(&sim_devices[device], false);
	return push(*context);
}

CUresult run_cuCtxCreate_v2(const cuCtxCreate_v2_params *params)
{
	return create(params->pctx, params->dev);
}

CUresult run_cuCtxCreate_v4(const cuCtxCreate_v4_params *params)
{
	return create(params->pctx, params->dev);
}

CUresult run_cuCtxDestroy_v2(const cuCtxDestroy_v2_params *params)
{
	if (!params->ctx || params->ctx->is_primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth && stack[depth - 1] == params->ctx)
		depth--;
	delete_context(params->ctx);
	return CUDA_SUCCESS;
}

CUresult run_cuCtxPushCurrent_v2(const cuCtxPushCurrent_v2_params *params)
{
	return params->ctx ? push(params->ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult run_cuCtxPopCurrent_v2(const cuCtxPopCurrent_v2_params *params)
{
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (params->pctx)
		*params->pctx = stack[depth];
	return CUDA_SUCCESS;
}

CUresult run_cuCtxSetCurrent(const cuCtxSetCurrent_params *params)
{
	if (depth)
		depth--;
	return params->ctx ? push(params->ctx) : CUDA_SUCCESS;
}

CUresult run_cuCtxGetCurrent(const cuCtxGetCurrent_params *params)
{
	if (!sim_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	*params->pctx = sim_current_context();
	return CUDA_SUCCESS;
}

CUresult run_cuCtxGetDevice(const cuCtxGetDevice_params *params)
{
	CUcontext context = sim_current_context();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*params->device = context->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult run_cuCtxSynchronize(void)
{
	CUcontext context = sim_current_context();
	struct sim_activity activity = {
		.kind = SIM_SYNC, .stream_id = UINT32_MAX, .channel_type = 0};

	if (!sim_is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	activity.sync.type = SIM_SYNC_CONTEXT;
	activity.sync.event_id = SIM_NO_EVENT;
	activity.sync.event_sync_id = UINT64_MAX;
	activity.context_id = context->id;
	activity.device = (uint32_t)context->device->ordinal;
	sim_truth_activity(&activity);
	sim_tools_submit(&activity);
	activity.start_ns = sim_now_ns();
	pthread_mutex_lock(&sim_lock);
	sim_context_wait(context);
	pthread_mutex_unlock(&sim_lock);
	activity.end_ns = sim_now_ns();
	sim_tools_done(&activity);
	sim_tools_synchronized(CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, context, NULL);
	return CUDA_SUCCESS;
}
