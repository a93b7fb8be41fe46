/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules, functions and kernel launches. Any image has every function that is asked for. */
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include <cupti_callbacks.h>

#define THREADS_AT_ONCE (132ull * 2048)

struct CUmod_st {
	CUcontext context;
	uint32_t id;
};

struct CUlib_st {
	struct CUmod_st module;
};

struct CUfunc_st {
	struct CUfunc_st *next;
	const char *name;
	uint64_t hash;
};

/* Never freed: records name them at any time. */
static struct CUfunc_st *functions;
static pthread_mutex_t function_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last_module_id;

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return hash;
}

static CUfunction find_function(const char *name)
{
	struct CUfunc_st *function;

	pthread_mutex_lock(&function_lock);
	for (function = functions; function; function = function->next)
		if (!strcmp(function->name, name))
			break;
	if (!function) {
		function = calloc(1, sizeof(*function));
		function->name = strdup(name);
		function->hash = hash_text(name);
		function->next = functions;
		functions = function;
	}
	pthread_mutex_unlock(&function_lock);
	return function;
}

const char *sim_function_name(CUfunction function)
{
	return function ? function->name : NULL;
}

/* Kernels whose time is like that of what their names say; others by a hash of the name. */
static const struct {
	const char *part;
	uint64_t wave_ns;
} costs[] = {
	{"gemm", 48000},  {"cutlass", 52000},	 {"nccl", 90000},
	{"flash", 64000}, {"elementwise", 2200}, {"reduce", 5200},
};

/* A kernel named sim_spin takes its time in ns as a first argument of 8 bytes. */
uint64_t sim_kernel_duration_ns(const char *name, const uint32_t grid[3], const uint32_t block[3],
				void **arguments)
{
	uint64_t threads = (uint64_t)grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2];
	uint64_t waves = (threads + THREADS_AT_ONCE - 1) / THREADS_AT_ONCE;
	uint64_t duration_ns;

	if (strstr(name, "sim_spin") && arguments && arguments[0]) {
		memcpy(&duration_ns, arguments[0], sizeof(duration_ns));
		return duration_ns;
	}
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
		if (strstr(name, costs[i].part))
			return waves * costs[i].wave_ns;
	return waves * (2000 + hash_text(name) % 8000);
}

void sim_kernel_describe(struct sim_activity *activity, CUfunction function, const uint32_t grid[3],
			 const uint32_t block[3], unsigned shared_bytes)
{
	activity->kernel.name = function->name;
	memcpy(activity->kernel.grid, grid, sizeof(activity->kernel.grid));
	memcpy(activity->kernel.block, block, sizeof(activity->kernel.block));
	activity->kernel.registers = (uint32_t)(16 + function->hash % 240);
	activity->kernel.static_shared_bytes = (uint32_t)(function->hash / 256 % 16 * 1024);
	activity->kernel.dynamic_shared_bytes = shared_bytes;
}

static CUresult launch(CUfunction function, const uint32_t grid[3], const uint32_t block[3],
		       unsigned shared_bytes, CUstream handle, void **arguments, bool cooperative)
{
	struct sim_work *work;
	CUstream stream;

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2] ||
	    (uint64_t)block[0] * block[1] * block[2] > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&sim_lock);
	stream = sim_resolve_stream(handle);
	if (!stream) {
		pthread_mutex_unlock(&sim_lock);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	work = sim_work_new(stream, SIM_KERNEL);
	work->is_recorded = true;
	sim_kernel_describe(&work->activity, function, grid, block, shared_bytes);
	work->activity.kernel.cooperative = cooperative;
	work->duration_ns = sim_kernel_duration_ns(function->name, grid, block, arguments);
	if (!sim_capture_work(work)) {
		/* The truth has times on devices too, which are known now. */
		work->activity.end_ns = work->duration_ns;
		sim_truth_activity(&work->activity);
		sim_tools_submit(&work->activity);
		sim_work_submit(work);
	}
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}

CUresult run_cuLaunchKernel(const cuLaunchKernel_params *params)
{
	const uint32_t grid[3] = {params->gridDimX, params->gridDimY, params->gridDimZ};
	const uint32_t block[3] = {params->blockDimX, params->blockDimY, params->blockDimZ};

	return launch(params->f, grid, block, params->sharedMemBytes, params->hStream,
		      params->kernelParams, false);
}

CUresult run_cuLaunchCooperativeKernel(const cuLaunchCooperativeKernel_params *params)
{
	const uint32_t grid[3] = {params->gridDimX, params->gridDimY, params->gridDimZ};
	const uint32_t block[3] = {params->blockDimX, params->blockDimY, params->blockDimZ};

	return launch(params->f, grid, block, params->sharedMemBytes, params->hStream,
		      params->kernelParams, true);
}

CUresult run_cuLaunchKernelEx(const cuLaunchKernelEx_params *params)
{
	const CUlaunchConfig *config = params->config;
	const uint32_t grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
	const uint32_t block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};

	return launch(params->f, grid, block, config->sharedMemBytes, config->hStream,
		      params->kernelParams, false);
}

static CUresult load(CUmodule *module)
{
	struct sim_resource resource = {.cbid = CUPTI_CBID_RESOURCE_MODULE_LOADED};
	CUcontext context = sim_current_context();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_spend("module_us");
	*module = calloc(1, sizeof(**module));
	(*module)->context = context;
	(*module)->id = __atomic_add_fetch(&last_module_id, 1, __ATOMIC_RELAXED);
	resource.context = context;
	resource.module = *module;
	sim_tools_resource(&resource);
	return CUDA_SUCCESS;
}

CUresult run_cuModuleLoad(const cuModuleLoad_params *params)
{
	return load(params->module);
}

CUresult run_cuModuleLoadData(const cuModuleLoadData_params *params)
{
	return load(params->module);
}

CUresult run_cuModuleLoadDataEx(const cuModuleLoadDataEx_params *params)
{
	return load(params->module);
}

CUresult run_cuModuleUnload(const cuModuleUnload_params *params)
{
	struct sim_resource resource = {.cbid = CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
					.module = params->hmod};

	if (!params->hmod)
		return CUDA_ERROR_INVALID_HANDLE;
	resource.context = params->hmod->context;
	sim_tools_resource(&resource);
	free(params->hmod);
	return CUDA_SUCCESS;
}

CUresult run_cuModuleGetFunction(const cuModuleGetFunction_params *params)
{
	if (!params->hmod || !params->name)
		return CUDA_ERROR_INVALID_HANDLE;
	*params->hfunc = find_function(params->name);
	return CUDA_SUCCESS;
}

CUresult run_cuLibraryLoadData(const cuLibraryLoadData_params *params)
{
	*params->library = calloc(1, sizeof(**params->library));
	return CUDA_SUCCESS;
}

CUresult run_cuLibraryUnload(const cuLibraryUnload_params *params)
{
	free(params->library);
	return CUDA_SUCCESS;
}

CUresult run_cuLibraryGetKernel(const cuLibraryGetKernel_params *params)
{
	if (!params->library || !params->name)
		return CUDA_ERROR_INVALID_HANDLE;
	*params->pKernel = (CUkernel)find_function(params->name);
	return CUDA_SUCCESS;
}

CUresult run_cuKernelGetFunction(const cuKernelGetFunction_params *params)
{
	*params->pFunc = (CUfunction)params->kernel;
	return params->kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult run_cuFuncGetName(const cuFuncGetName_params *params)
{
	if (!params->hfunc)
		return CUDA_ERROR_INVALID_HANDLE;
	*params->name = params->hfunc->name;
	return CUDA_SUCCESS;
}
