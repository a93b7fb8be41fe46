/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plain CUDA program that does what it is told. With a number of seconds: a loop for that long. Without: reads lines
 * "run N" and answers each with one line of JSON when N steps are done: what they launched and how long they took.
 * A step: one copy to the device, one set, scale, add, a graph of two kernels, one copy back.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		cudaError_t error = (call);                                                                            \
		if (error != cudaSuccess) {                                                                            \
			fprintf(stderr, "launches: %s: %s\n", #call, cudaGetErrorString(error));                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static const int COUNT = 1 << 18;

extern "C" __global__ void scale(float *x, float factor)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < COUNT)
		x[i] *= factor;
}

extern "C" __global__ void add(float *x, const float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < COUNT)
		x[i] += y[i];
}

struct work {
	cudaStream_t stream;
	cudaGraphExec_t graph;
	float *host, *x, *y;
};

static void capture(struct work *work)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(work->stream, cudaStreamCaptureModeThreadLocal));
	scale<<<COUNT / 256, 256, 0, work->stream>>>(work->x, 0.5f);
	add<<<COUNT / 256, 256, 0, work->stream>>>(work->x, work->y);
	CHECK(cudaStreamEndCapture(work->stream, &graph));
	CHECK(cudaGraphInstantiateWithFlags(&work->graph, graph, 0));
	CHECK(cudaGraphDestroy(graph));
}

static void step(struct work *work)
{
	CHECK(cudaMemcpyAsync(work->x, work->host, COUNT * sizeof(float), cudaMemcpyHostToDevice, work->stream));
	CHECK(cudaMemsetAsync(work->y, 0, COUNT * sizeof(float), work->stream));
	scale<<<COUNT / 256, 256, 0, work->stream>>>(work->x, 2.0f);
	add<<<COUNT / 256, 256, 0, work->stream>>>(work->x, work->y);
	CHECK(cudaGraphLaunch(work->graph, work->stream));
	CHECK(cudaMemcpyAsync(work->host, work->x, COUNT * sizeof(float), cudaMemcpyDeviceToHost, work->stream));
}

static double run(struct work *work, int steps)
{
	auto start = std::chrono::steady_clock::now();

	for (int i = 0; i < steps; i++)
		step(work);
	CHECK(cudaStreamSynchronize(work->stream));
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int main(int argc, char **argv)
{
	struct work work = {};
	char line[64];
	int steps;

	CHECK(cudaStreamCreateWithFlags(&work.stream, cudaStreamNonBlocking));
	CHECK(cudaMallocHost(&work.host, COUNT * sizeof(float)));
	CHECK(cudaMalloc(&work.x, COUNT * sizeof(float)));
	CHECK(cudaMalloc(&work.y, COUNT * sizeof(float)));
	capture(&work);
	if (argc > 1) {
		for (double left = atof(argv[1]); left > 0;)
			left -= run(&work, 100);
		return 0;
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "run %d", &steps) != 1)
			continue;
		double seconds = run(&work, steps);

		printf("{\"seconds\":%.9f,\"kernels\":{\"scale\":%d,\"add\":%d},\"copies\":{\"host_to_device\":%d,"
		       "\"device_to_host\":%d},\"sets\":%d,\"graph_launches\":%d}\n",
		       seconds, 2 * steps, 2 * steps, steps, steps, steps, steps);
		fflush(stdout);
	}
	return 0;
}
