/*
 * Checks one simulated libcupti against what the simulated driver was asked for: test_cupti LIBCUPTI.
 * Each case runs in a process of its own; a line "ok NAME" or "not ok NAME" each.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cuda.h>
#include "../interface.h"
#include "client.h"

#define LAUNCHES 300
#define COPIES	 40
#define SETS	 20
#define GRAPHS	 10
#define BYTES	 65536

static const char *library;
static unsigned failures;

#define EXPECT(condition)                                                        \
	do {                                                                     \
		if (!(condition)) {                                              \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                              \
		}                                                                \
	} while (0)
#define EXPECT_EQUAL(left, right)                                                                 \
	do {                                                                                      \
		unsigned long long left_value = (unsigned long long)(left),                       \
				   right_value = (unsigned long long)(right);                     \
		if (left_value != right_value) {                                                  \
			printf("# %s:%d: %s is %llu, not %s = %llu\n", __FILE__, __LINE__, #left, \
			       left_value, #right, right_value);                                  \
			failures++;                                                               \
		}                                                                                 \
	} while (0)

struct load {
	CUcontext context;
	CUstream streams[2];
	CUfunction function;
	CUdeviceptr memory;
	void *host;
	CUgraphExec graph;
};

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

static void prepare(struct load *load)
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

static void work(struct load *load)
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

static const unsigned work_kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_DRIVER,
	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
	0,
};

/* Each kernel belongs to one call, after whose begin it starts; streams run in order. */
static void check_kernels(unsigned expected_grids)
{
	uint64_t last_end[2] = {0}, last_stream[2] = {0};
	unsigned grids = 0;

	for (size_t i = 0; i < client.record_count; i++) {
		const struct client_record *kernel = &client.records[i];
		const struct client_record *call;
		uint64_t stream, start, end;

		if (kernel->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		call = client_find_record(
			CUPTI_ACTIVITY_KIND_DRIVER,
			(uint32_t)FIELD(kernel->bytes, kernel->size, KERNEL, correlationId));
		EXPECT(call != NULL);
		if (!call)
			return;
		start = FIELD(kernel->bytes, kernel->size, KERNEL, start);
		end = FIELD(kernel->bytes, kernel->size, KERNEL, end);
		EXPECT(start >= FIELD(call->bytes, call->size, API, start));
		EXPECT(end > start);
		EXPECT(!strcmp(
			(const char *)(uintptr_t)FIELD(kernel->bytes, kernel->size, KERNEL, name),
			"ampere_sgemm_128x64_tn"));
		if (FIELD(kernel->bytes, kernel->size, KERNEL, graphId))
			continue;
		grids += (unsigned)FIELD(kernel->bytes, kernel->size, KERNEL, gridX);
		EXPECT_EQUAL(FIELD(call->bytes, call->size, API, cbid),
			     CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
		stream = FIELD(kernel->bytes, kernel->size, KERNEL, streamId);
		for (unsigned j = 0; j < 2; j++) {
			if (last_stream[j] && last_stream[j] != stream)
				continue;
			last_stream[j] = stream;
			EXPECT(start >= last_end[j]);
			last_end[j] = end;
			break;
		}
	}
	EXPECT_EQUAL(grids, expected_grids);
}

/* The library comes late, into a process that has contexts, streams and work. */
static void test_late_attach(void)
{
	uint64_t copied = 0;
	struct load load;
	size_t dropped;

	prepare(&load);
	work(&load);
	if (!client_open(library))
		exit(1);
	EXPECT_EQUAL(client_start(work_kinds), 0);
	work(&load);
	client_disable(work_kinds);
	work(&load);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	EXPECT(!client.has_bad_buffer);
	EXPECT_EQUAL(client.buffers_completed, client.buffers_requested);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], LAUNCHES + 3 * GRAPHS);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_MEMCPY], COPIES + 1);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_MEMSET], SETS);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION], 2);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_DRIVER],
		     LAUNCHES + COPIES + 1 + SETS + GRAPHS + 2);
	for (size_t i = 0; i < client.record_count; i++)
		if (client.records[i].kind == CUPTI_ACTIVITY_KIND_MEMCPY)
			copied += FIELD(client.records[i].bytes, client.records[i].size, MEMCPY,
					bytes);
	EXPECT_EQUAL(copied, COPIES * BYTES + BYTES / 2);
	check_kernels(LAUNCHES * 8 + LAUNCHES * (LAUNCHES - 1) / 2);
	EXPECT_EQUAL(CALL(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped), 0);
	EXPECT_EQUAL(dropped, 0);
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *knob, *value;
} cases[] = {
	{"late_attach", test_late_attach, NULL, NULL},
};

int main(int argc, char **argv)
{
	unsigned failed = 0;
	int status;

	if (argc != 2) {
		fprintf(stderr, "usage: test_cupti LIBCUPTI\n");
		return 2;
	}
	library = argv[1];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fflush(stdout);
		if (fork() == 0) {
			if (cases[i].knob)
				setenv(cases[i].knob, cases[i].value, 1);
			alarm(60);
			cases[i].run();
			fflush(stdout);
			_exit(failures ? 1 : 0);
		}
		wait(&status);
		printf("%s %s\n", status ? "not ok" : "ok", cases[i].name);
		failed += status != 0;
	}
	return failed != 0;
}
