/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "load.h"

#define CASE_SECONDS 60

unsigned failures;

static void make_graph(struct load *load)
{
	CUDA_KERNEL_NODE_PARAMS node = {.func = load->function, 4, 1, 1, 64, 1, 1, 0};
	CUgraphNode nodes[3];
	CUgraph graph;

	EXPECT(!cuGraphCreate(&graph, 0));
	EXPECT(!cuGraphAddKernelNode(&nodes[0], graph, NULL, 0, &node));
	EXPECT(!cuGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &node));
	EXPECT(!cuGraphAddKernelNode(&nodes[2], graph, &nodes[0], 1, &node));
	EXPECT(!cuGraphInstantiate(&load->graph, graph, 0));
	EXPECT(!cuGraphDestroy(graph));
}

void prepare(struct load *load)
{
	CUmodule module;

	EXPECT(!cuInit(0));
	EXPECT(!cuDevicePrimaryCtxRetain(&load->context, 0));
	EXPECT(!cuCtxSetCurrent(load->context));
	EXPECT(!cuStreamCreate(&load->streams[0], CU_STREAM_NON_BLOCKING));
	EXPECT(!cuStreamCreateWithPriority(&load->streams[1], CU_STREAM_NON_BLOCKING, -3));
	EXPECT(!cuModuleLoadData(&module, ""));
	EXPECT(!cuModuleGetFunction(&load->function, module, "ampere_sgemm_128x64_tn"));
	EXPECT(!cuMemAlloc(&load->memory, BYTES));
	EXPECT(!cuMemAllocHost(&load->host, BYTES));
	make_graph(load);
}

void work(struct load *load)
{
	for (unsigned i = 0; i < LAUNCHES; i++)
		EXPECT(!cuLaunchKernel(load->function, 8 + i, 1, 1, 128, 1, 1, 0,
				       load->streams[i % 2], NULL, NULL));
	for (unsigned i = 0; i < COPIES; i++)
		EXPECT(!cuMemcpyHtoDAsync(load->memory, load->host, BYTES, load->streams[0]));
	EXPECT(!cuMemcpyDtoH(load->host, load->memory, BYTES / 2));
	for (unsigned i = 0; i < SETS; i++)
		EXPECT(!cuMemsetD32Async(load->memory, 7, BYTES / 4, load->streams[1]));
	for (unsigned i = 0; i < GRAPHS; i++)
		EXPECT(!cuGraphLaunch(load->graph, load->streams[0]));
	EXPECT(!cuStreamSynchronize(load->streams[0]));
	EXPECT(!cuCtxSynchronize());
}

int run_cases(const struct test_case *cases, size_t count)
{
	unsigned failed = 0;
	int status;

	for (size_t i = 0; i < count; i++) {
		fflush(stdout);
		if (fork() == 0) {
			if (cases[i].knob)
				setenv(cases[i].knob, cases[i].value, 1);
			alarm(CASE_SECONDS);
			cases[i].run();
			fflush(stdout);
			_exit(failures ? 1 : 0);
		}
		wait(&status);
		if (WIFSIGNALED(status))
			printf("# harm: %s was ended by signal %d\n", cases[i].name,
			       WTERMSIG(status));
		printf("%s %s\n", status ? "not ok" : "ok", cases[i].name);
		failed += status != 0;
	}
	return failed != 0;
}
