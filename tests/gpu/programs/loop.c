/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CUDA program that does what it is told, on the driver's API alone, so that it is the same on a card and on the
 * simulated driver of tests/sim. Says "ready"; then reads a command a line and answers each with a line of JSON:
 *
 *	run N		N steps (a copy to the device, a set, KERNELS kernels, a copy back), then waits for them
 *	graph N M	a graph of N kernels, launched M times; how long the slowest launch call was
 *	client WORDS	the CUPTI client of client.c (its file is in GPU_CLIENT) records what the words say, or nothing: off
 *	fork		a child that sleeps until the program ends
 *	fill MB		takes the device's memory but for so many MB; with -1 it gives it back
 *	reset		cuDevicePrimaryCtxReset, and all anew
 *	exit		exit(0) at once, without an answer
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cuda.h>

#define COPY_BYTES  (64 << 10)
#define KERNELS	    8
#define SPIN_NS	    2000ULL
#define FILLED_MAX  512
#define FORKS_MAX   64
#define CHECK(call) check(call, #call)

/* It takes the time that its argument says; the simulated driver knows it by its name. */
static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
			  ".visible .entry lab_sim_spin(.param .u64 ns)\n{\n"
			  "	.reg .u64 %a, %b, %c;\n	.reg .pred %p;\n"
			  "	ld.param.u64 %a, [ns];\n"
			  "	mov.u64 %b, %globaltimer;\n"
			  "	add.u64 %b, %b, %a;\n"
			  "again:\n"
			  "	mov.u64 %c, %globaltimer;\n"
			  "	setp.lt.u64 %p, %c, %b;\n"
			  "	@%p bra again;\n"
			  "	ret;\n}\n";

struct work {
	CUdevice device;
	CUcontext context;
	CUstream stream;
	CUfunction spin;
	CUdeviceptr memory;
	void *host;
	CUdeviceptr filled[FILLED_MAX];
	size_t filled_count;
	pid_t forks[FORKS_MAX];
	size_t fork_count;
	int (*client_mode)(const char *words, unsigned long long *ret_records);
};

static void check(CUresult result, const char *call)
{
	const char *name = "?";

	if (result == CUDA_SUCCESS)
		return;
	cuGetErrorName(result, &name);
	fprintf(stderr, "loop: %s: %s (%d)\n", call, name, result);
	exit(1);
}

static double seconds_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void start(struct work *work)
{
	CUmodule module;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&work->device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&work->context, work->device));
	CHECK(cuCtxSetCurrent(work->context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&work->spin, module, "lab_sim_spin"));
	CHECK(cuStreamCreate(&work->stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&work->memory, COPY_BYTES));
	CHECK(cuMemAllocHost(&work->host, COPY_BYTES));
}

static void step(struct work *work)
{
	unsigned long long ns = SPIN_NS;
	void *arguments[] = {&ns};

	CHECK(cuMemcpyHtoDAsync(work->memory, work->host, COPY_BYTES, work->stream));
	CHECK(cuMemsetD8Async(work->memory, 0, COPY_BYTES, work->stream));
	for (int i = 0; i < KERNELS; i++)
		CHECK(cuLaunchKernel(work->spin, 1, 1, 1, 32, 1, 1, 0, work->stream, arguments,
				     NULL));
	CHECK(cuMemcpyDtoHAsync(work->host, work->memory, COPY_BYTES, work->stream));
}

static void run(struct work *work, long steps)
{
	double begun = seconds_now();

	for (long i = 0; i < steps; i++)
		step(work);
	CHECK(cuStreamSynchronize(work->stream));
	printf("{\"seconds\":%.9f,\"kernels\":{\"lab_sim_spin\":%ld}}\n", seconds_now() - begun,
	       steps * KERNELS);
}

static void run_graph(struct work *work, long nodes, long launches)
{
	unsigned long long ns = 0;
	void *arguments[] = {&ns};
	CUDA_KERNEL_NODE_PARAMS parameters = {.func = work->spin,
					      .gridDimX = 1,
					      .gridDimY = 1,
					      .gridDimZ = 1,
					      .blockDimX = 32,
					      .blockDimY = 1,
					      .blockDimZ = 1,
					      .kernelParams = arguments};
	double begun, slowest = 0;
	CUgraphNode node, before;
	CUgraphExec executable;
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	for (long i = 0; i < nodes; i++) {
		CHECK(cuGraphAddKernelNode(&node, graph, &before, i > 0, &parameters));
		before = node;
	}
	CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0));
	for (long i = 0; i < launches; i++) {
		begun = seconds_now();
		CHECK(cuGraphLaunch(executable, work->stream));
		if (seconds_now() - begun > slowest)
			slowest = seconds_now() - begun;
		CHECK(cuStreamSynchronize(work->stream));
	}
	CHECK(cuGraphExecDestroy(executable));
	CHECK(cuGraphDestroy(graph));
	printf("{\"slowest_launch_seconds\":%.9f,\"kernels\":{\"lab_sim_spin\":%ld}}\n", slowest,
	       nodes * launches);
}

static void client(struct work *work, const char *words)
{
	const char *path = getenv("GPU_CLIENT");
	unsigned long long records = 0;
	void *library;
	int result;

	if (!work->client_mode && path && (library = dlopen(path, RTLD_NOW)))
		*(void **)&work->client_mode = dlsym(library, "client_mode");
	if (!work->client_mode) {
		printf("{\"error\":\"no client of CUPTI\"}\n");
		return;
	}
	result = work->client_mode(words, &records);
	printf("{\"result\":%d,\"records\":%llu}\n", result, records);
}

static void fork_child(struct work *work)
{
	pid_t child = work->fork_count < FORKS_MAX ? fork() : -1;

	if (child == 0)
		for (;;)
			pause();
	if (child > 0)
		work->forks[work->fork_count++] = child;
	printf("{\"child\":%d}\n", child);
}

static void fill(struct work *work, long left_mb)
{
	size_t left, total, piece = 1UL << 30;

	while (left_mb < 0 && work->filled_count)
		CHECK(cuMemFree(work->filled[--work->filled_count]));
	while (left_mb >= 0 && piece >= 1 << 20 && work->filled_count < FILLED_MAX) {
		CHECK(cuMemGetInfo(&left, &total));
		if (left < piece + ((size_t)left_mb << 20) ||
		    cuMemAlloc(&work->filled[work->filled_count], piece) != CUDA_SUCCESS)
			piece >>= 1;
		else
			work->filled_count++;
	}
	CHECK(cuMemGetInfo(&left, &total));
	printf("{\"free_bytes\":%zu}\n", left);
}

static void reset(struct work *work)
{
	CUresult result = cuDevicePrimaryCtxReset(work->device);

	if (result == CUDA_SUCCESS)
		start(work);
	printf("{\"result\":%d}\n", result);
}

static bool obey(struct work *work, char *line)
{
	long first = 0, second = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "run %ld", &first) == 1)
		run(work, first);
	else if (sscanf(line, "graph %ld %ld", &first, &second) == 2)
		run_graph(work, first, second);
	else if (sscanf(line, "fill %ld", &first) == 1)
		fill(work, first);
	else if (!strncmp(line, "client ", strlen("client ")))
		client(work, line + strlen("client "));
	else if (!strcmp(line, "fork"))
		fork_child(work);
	else if (!strcmp(line, "reset"))
		reset(work);
	else if (!strcmp(line, "exit"))
		return false;
	else
		printf("{\"error\":\"no such command\"}\n");
	return true;
}

int main(void)
{
	struct work work = {0};
	char line[256];

	start(&work);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && obey(&work, line))
		fflush(stdout);
	for (size_t i = 0; i < work.fork_count; i++)
		kill(work.forks[i], SIGKILL);
	return 0;
}
