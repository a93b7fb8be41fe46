/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thin runtime API: every function is a driver call or two, inside its own. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "generated.h"

#define MAX_KERNELS 4096

struct kernel {
	const void *host_function;
	const char *name;
	CUfunction function;
};

static struct kernel kernels[MAX_KERNELS];
static size_t kernel_count;
static pthread_mutex_t kernel_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int current_device;
static __thread CUcontext current_context;
static __thread cudaError_t last_error;

static struct kernel *find_kernel(const void *host_function)
{
	for (size_t i = 0; i < kernel_count; i++)
		if (kernels[i].host_function == host_function)
			return &kernels[i];
	return NULL;
}

static const char *name_of(const void *host_function)
{
	struct kernel *kernel = find_kernel(host_function);

	return kernel ? kernel->name : NULL;
}

__attribute__((constructor)) static void init(void)
{
	simDriverTable()->set_runtime_symbols(name_of);
}

/* Codes of the two APIs are the same where they mean the same. */
static cudaError_t result_of(CUresult result)
{
	return (cudaError_t)result;
}

int sim_runtime_call(const struct sim_site *site, int (*run)(const void *params),
		     const void *params, int unsupported)
{
	int result = simDriverTable()->call(site, run, params, unsupported);

	if (result && result != cudaErrorNotReady)
		last_error = (cudaError_t)result;
	return result;
}

/* The primary context of the thread's device is made at first use. */
static CUresult use_device(void)
{
	CUresult result;

	if (current_context)
		return CUDA_SUCCESS;
	result = cuInit(0);
	if (!result)
		result = cuDevicePrimaryCtxRetain(&current_context, current_device);
	if (!result)
		result = cuCtxSetCurrent(current_context);
	return result;
}

/* Within a run_ function: the driver's call, once there is a context. */
#define DRIVER(call)                                                      \
	do {                                                              \
		CUresult driver_result = use_device();                    \
		return result_of(driver_result ? driver_result : (call)); \
	} while (0)

#define POINTER(address) ((CUdeviceptr)(uintptr_t)(address))

cudaError_t run_cudaGetDeviceCount(const cudaGetDeviceCount_v3020_params *params)
{
	CUresult result = cuInit(0);

	return result_of(result ? result : cuDeviceGetCount(params->count));
}

cudaError_t run_cudaSetDevice(const cudaSetDevice_v3020_params *params)
{
	if (current_context && params->device != current_device)
		current_context = NULL;
	current_device = params->device;
	return result_of(use_device());
}

cudaError_t run_cudaGetDevice(const cudaGetDevice_v3020_params *params)
{
	*params->device = current_device;
	return cudaSuccess;
}

cudaError_t run_cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

cudaError_t run_cudaPeekAtLastError(void)
{
	return last_error;
}

cudaError_t run_cudaRuntimeGetVersion(const cudaRuntimeGetVersion_v3020_params *params)
{
	*params->runtimeVersion = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t run_cudaDriverGetVersion(const cudaDriverGetVersion_v3020_params *params)
{
	return result_of(cuDriverGetVersion(params->driverVersion));
}

cudaError_t run_cudaDeviceSynchronize(void)
{
	DRIVER(cuCtxSynchronize());
}

static CUresult allocate(void **pointer, size_t bytes)
{
	CUdeviceptr address;
	CUresult result = cuMemAlloc(&address, bytes);

	if (!result)
		*pointer = (void *)(uintptr_t)address;
	return result;
}

cudaError_t run_cudaMalloc(const cudaMalloc_v3020_params *params)
{
	DRIVER(allocate(params->devPtr, params->size));
}

cudaError_t run_cudaFree(const cudaFree_v3020_params *params)
{
	DRIVER(cuMemFree(POINTER(params->devPtr)));
}

static CUresult allocate_async(void **pointer, size_t bytes, CUstream stream)
{
	CUdeviceptr address;
	CUresult result = cuMemAllocAsync(&address, bytes, stream);

	if (!result)
		*pointer = (void *)(uintptr_t)address;
	return result;
}

cudaError_t run_cudaMallocAsync(const cudaMallocAsync_v11020_params *params)
{
	DRIVER(allocate_async(params->devPtr, params->size, params->hStream));
}

cudaError_t run_cudaFreeAsync(const cudaFreeAsync_v11020_params *params)
{
	DRIVER(cuMemFreeAsync(POINTER(params->devPtr), params->hStream));
}

cudaError_t run_cudaMallocHost(const cudaMallocHost_v3020_params *params)
{
	DRIVER(cuMemAllocHost(params->ptr, params->size));
}

cudaError_t run_cudaFreeHost(const cudaFreeHost_v3020_params *params)
{
	DRIVER(cuMemFreeHost(params->ptr));
}

static CUresult allocate_managed(void **pointer, size_t bytes, unsigned flags)
{
	CUdeviceptr address;
	CUresult result = cuMemAllocManaged(&address, bytes, flags);

	if (!result)
		*pointer = (void *)(uintptr_t)address;
	return result;
}

cudaError_t run_cudaMallocManaged(const cudaMallocManaged_v6000_params *params)
{
	DRIVER(allocate_managed(params->devPtr, params->size, params->flags));
}

static CUresult copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return cuMemcpyHtoD(POINTER(to), from, bytes);
	case cudaMemcpyDeviceToHost:
		return cuMemcpyDtoH(to, POINTER(from), bytes);
	case cudaMemcpyDeviceToDevice:
		return cuMemcpyDtoD(POINTER(to), POINTER(from), bytes);
	default:
		return cuMemcpy(POINTER(to), POINTER(from), bytes);
	}
}

static CUresult copy_async(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			   CUstream stream)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return cuMemcpyHtoDAsync(POINTER(to), from, bytes, stream);
	case cudaMemcpyDeviceToHost:
		return cuMemcpyDtoHAsync(to, POINTER(from), bytes, stream);
	case cudaMemcpyDeviceToDevice:
		return cuMemcpyDtoDAsync(POINTER(to), POINTER(from), bytes, stream);
	default:
		return cuMemcpyAsync(POINTER(to), POINTER(from), bytes, stream);
	}
}

cudaError_t run_cudaMemcpy(const cudaMemcpy_v3020_params *params)
{
	DRIVER(copy(params->dst, params->src, params->count, params->kind));
}

cudaError_t run_cudaMemcpyAsync(const cudaMemcpyAsync_v3020_params *params)
{
	DRIVER(copy_async(params->dst, params->src, params->count, params->kind, params->stream));
}

cudaError_t run_cudaMemcpyPeerAsync(const cudaMemcpyPeerAsync_v4000_params *params)
{
	CUcontext to, from;
	CUresult result = use_device();

	if (!result)
		result = cuDevicePrimaryCtxRetain(&to, params->dstDevice);
	if (!result)
		result = cuDevicePrimaryCtxRetain(&from, params->srcDevice);
	if (!result)
		result = cuMemcpyPeerAsync(POINTER(params->dst), to, POINTER(params->src), from,
					   params->count, params->stream);
	return result_of(result);
}

cudaError_t run_cudaMemset(const cudaMemset_v3020_params *params)
{
	DRIVER(cuMemsetD8(POINTER(params->devPtr), (unsigned char)params->value, params->count));
}

cudaError_t run_cudaMemsetAsync(const cudaMemsetAsync_v3020_params *params)
{
	DRIVER(cuMemsetD8Async(POINTER(params->devPtr), (unsigned char)params->value, params->count,
			       params->stream));
}

cudaError_t run_cudaStreamCreate(const cudaStreamCreate_v3020_params *params)
{
	DRIVER(cuStreamCreate(params->pStream, 0));
}

cudaError_t run_cudaStreamCreateWithFlags(const cudaStreamCreateWithFlags_v5000_params *params)
{
	DRIVER(cuStreamCreate(params->pStream, params->flags));
}

cudaError_t
run_cudaStreamCreateWithPriority(const cudaStreamCreateWithPriority_v5050_params *params)
{
	DRIVER(cuStreamCreateWithPriority(params->pStream, params->flags, params->priority));
}

cudaError_t run_cudaStreamDestroy(const cudaStreamDestroy_v5050_params *params)
{
	DRIVER(cuStreamDestroy(params->stream));
}

cudaError_t run_cudaStreamSynchronize(const cudaStreamSynchronize_v3020_params *params)
{
	DRIVER(cuStreamSynchronize(params->stream));
}

cudaError_t run_cudaStreamQuery(const cudaStreamQuery_v3020_params *params)
{
	DRIVER(cuStreamQuery(params->stream));
}

cudaError_t run_cudaStreamWaitEvent(const cudaStreamWaitEvent_v3020_params *params)
{
	DRIVER(cuStreamWaitEvent(params->stream, params->event, params->flags));
}

cudaError_t run_cudaStreamBeginCapture(const cudaStreamBeginCapture_v10000_params *params)
{
	DRIVER(cuStreamBeginCapture(params->stream, (CUstreamCaptureMode)params->mode));
}

cudaError_t run_cudaStreamEndCapture(const cudaStreamEndCapture_v10000_params *params)
{
	DRIVER(cuStreamEndCapture(params->stream, params->pGraph));
}

cudaError_t run_cudaGraphInstantiate(const cudaGraphInstantiate_v12000_params *params)
{
	DRIVER(cuGraphInstantiateWithFlags(params->pGraphExec, params->graph, params->flags));
}

cudaError_t run_cudaGraphLaunch(const cudaGraphLaunch_v10000_params *params)
{
	DRIVER(cuGraphLaunch(params->graphExec, params->stream));
}

cudaError_t run_cudaGraphExecDestroy(const cudaGraphExecDestroy_v10000_params *params)
{
	DRIVER(cuGraphExecDestroy(params->graphExec));
}

cudaError_t run_cudaGraphDestroy(const cudaGraphDestroy_v10000_params *params)
{
	DRIVER(cuGraphDestroy(params->graph));
}

cudaError_t run_cudaEventCreate(const cudaEventCreate_v3020_params *params)
{
	DRIVER(cuEventCreate(params->event, 0));
}

cudaError_t run_cudaEventCreateWithFlags(const cudaEventCreateWithFlags_v3020_params *params)
{
	DRIVER(cuEventCreate(params->event, params->flags));
}

cudaError_t run_cudaEventDestroy(const cudaEventDestroy_v3020_params *params)
{
	DRIVER(cuEventDestroy(params->event));
}

cudaError_t run_cudaEventRecord(const cudaEventRecord_v3020_params *params)
{
	DRIVER(cuEventRecord(params->event, params->stream));
}

cudaError_t run_cudaEventQuery(const cudaEventQuery_v3020_params *params)
{
	DRIVER(cuEventQuery(params->event));
}

cudaError_t run_cudaEventSynchronize(const cudaEventSynchronize_v3020_params *params)
{
	DRIVER(cuEventSynchronize(params->event));
}

static CUresult load_kernel(struct kernel *kernel)
{
	static CUmodule module;
	CUresult result = CUDA_SUCCESS;

	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&kernel_lock);
	if (!module)
		result = cuModuleLoadData(&module, "simulated");
	if (!result && !kernel->function)
		result = cuModuleGetFunction(&kernel->function, module, kernel->name);
	pthread_mutex_unlock(&kernel_lock);
	return result;
}

cudaError_t run_cudaLaunchKernel(const cudaLaunchKernel_v7000_params *params)
{
	struct kernel *kernel = find_kernel(params->func);
	CUresult result = use_device();

	if (!result)
		result = load_kernel(kernel);
	if (!result)
		result = cuLaunchKernel(kernel->function, params->gridDim.x, params->gridDim.y,
					params->gridDim.z, params->blockDim.x, params->blockDim.y,
					params->blockDim.z, (unsigned)params->sharedMem,
					params->stream, params->args, NULL);
	return result_of(result);
}

const char *cudaGetErrorName(cudaError_t error)
{
	const char *name = NULL;

	cuGetErrorName((CUresult)error, &name);
	return name ? name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	return cudaGetErrorName(error);
}

/* What nvcc's host code calls at its start. */
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
			    const char *device_name, int thread_limit, uint3 *thread_id,
			    uint3 *block_id, dim3 *block, dim3 *grid, int *warp);

void **__cudaRegisterFatBinary(void *image)
{
	static void *handle;

	return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

void __cudaUnregisterFatBinary(void **handle)
{
}

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
			    const char *device_name, int thread_limit, uint3 *thread_id,
			    uint3 *block_id, dim3 *block, dim3 *grid, int *warp)
{
	pthread_mutex_lock(&kernel_lock);
	if (kernel_count < MAX_KERNELS && !find_kernel(host_function))
		kernels[kernel_count++] = (struct kernel){host_function, strdup(device_name), NULL};
	pthread_mutex_unlock(&kernel_lock);
}
