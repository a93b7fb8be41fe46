/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks one simulated libcupti against what the simulated driver was asked for: test_cupti LIBCUPTI.
 * Each case runs in a process of its own; a line "ok NAME" or "not ok NAME" each.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cuda.h>
#include "client.h"
#include "load.h"

static const char *library;

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

struct seen {
	unsigned enters, exits, others;
	uint32_t thread_differs, last_correlation;
	unsigned finalized;
	CUptiResult finalize_result;
	pthread_t thread;
	CUpti_SubscriberHandle subscriber;
};

static void on_callback(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			const void *info)
{
	const CUpti_CallbackData *call = info;
	struct seen *seen = data;

	if (domain != CUPTI_CB_DOMAIN_DRIVER_API ||
	    cbid != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
		seen->others++;
		return;
	}
	seen->thread_differs += !pthread_equal(pthread_self(), seen->thread);
	EXPECT(call->symbolName && !strcmp(call->symbolName, "ampere_sgemm_128x64_tn"));
	EXPECT(((const cuLaunchKernel_params *)call->functionParams)->blockDimX == 128);
	if (call->callbackSite == CUPTI_API_ENTER) {
		seen->enters++;
		*call->correlationData = call->correlationId;
	} else {
		seen->exits++;
		EXPECT_EQUAL(*call->correlationData, call->correlationId);
		EXPECT_EQUAL(*(CUresult *)call->functionReturnValue, CUDA_SUCCESS);
	}
}

/* Only what was subscribed, on the thread that calls, from its enter to its exit. */
static void test_callbacks(void)
{
	struct seen seen = {.thread = pthread_self()};
	CUpti_SubscriberHandle subscriber, second;
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(CALL(cuptiSubscribe, &subscriber, on_callback, &seen), 0);
	EXPECT_EQUAL(CALL(cuptiSubscribe, &second, on_callback, &seen),
		     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	EXPECT_EQUAL(CALL(cuptiEnableCallback, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
			  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
		     0);
	work(&load);
	EXPECT_EQUAL(seen.enters, LAUNCHES);
	EXPECT_EQUAL(seen.exits, LAUNCHES);
	EXPECT_EQUAL(seen.others, 0);
	EXPECT_EQUAL(seen.thread_differs, 0);
	EXPECT_EQUAL(CALL(cuptiEnableDomain, 1, subscriber, CUPTI_CB_DOMAIN_SYNCHRONIZE), 0);
	work(&load);
	EXPECT_EQUAL(seen.others, 2);
	EXPECT_EQUAL(CALL(cuptiUnsubscribe, subscriber), 0);
	work(&load);
	EXPECT_EQUAL(seen.enters, 2 * LAUNCHES);
	EXPECT_EQUAL(seen.others, 2);
}

static void test_graph_trace(void)
{
	static const unsigned kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					 CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0};
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(client_start(kinds), 0);
	work(&load);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], LAUNCHES);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_GRAPH_TRACE], GRAPHS);
}

static void test_memory(void)
{
	static const unsigned kinds[] = {CUPTI_ACTIVITY_KIND_MEMORY2,
					 CUPTI_ACTIVITY_KIND_MEMORY_POOL, 0};
	uint64_t allocated = 0, released = 0, bytes;
	CUdeviceptr memory;
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(client_start(kinds), 0);
	EXPECT(!cuMemAlloc(&memory, 1000));
	EXPECT(!cuMemFree(memory));
	EXPECT(!cuMemAllocAsync(&memory, 5000, load.streams[0]));
	EXPECT(!cuMemFreeAsync(memory, load.streams[0]));
	EXPECT(!cuMemFree(load.memory));
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	for (size_t i = 0; i < client.record_count; i++) {
		const struct client_record *record = &client.records[i];

		if (record->kind != CUPTI_ACTIVITY_KIND_MEMORY2)
			continue;
		bytes = FIELD(record->bytes, record->size, MEMORY2, bytes);
		if (FIELD(record->bytes, record->size, MEMORY2, memoryOperationType) == 1)
			allocated += bytes;
		else
			released += bytes;
	}
	EXPECT_EQUAL(allocated, 6000);
	EXPECT_EQUAL(released, 6000 + BYTES);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_MEMORY_POOL], 1);
}

/* What was there before the library came. */
static void test_dump(void)
{
	static const unsigned none[] = {0};
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(client_start(none), 0);
	EXPECT_EQUAL(CALL(cuptiActivityEnableAndDump, CUPTI_ACTIVITY_KIND_DEVICE), 0);
	EXPECT_EQUAL(CALL(cuptiActivityEnableAndDump, CUPTI_ACTIVITY_KIND_CONTEXT), 0);
	EXPECT_EQUAL(CALL(cuptiActivityEnableAndDump, CUPTI_ACTIVITY_KIND_STREAM), 0);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_DEVICE], 2);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_CONTEXT], 1);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_STREAM], 3);
}

/* Since 12.5 ids of the API can be switched off; before, there is no such function. */
static void test_api_filter(void)
{
	static const unsigned kinds[] = {CUPTI_ACTIVITY_KIND_DRIVER, 0};
	uint32_t version;
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	CALL(cuptiGetVersion, &version);
	EXPECT_EQUAL(client_find("cuptiActivityEnableDriverApi") != NULL, version >= 23);
	if (!client_find("cuptiActivityEnableDriverApi"))
		return;
	EXPECT_EQUAL(client_start(kinds), 0);
	EXPECT_EQUAL(CALL(cuptiActivityEnableDriverApi, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 0),
		     0);
	work(&load);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_DRIVER], COPIES + 1 + SETS + GRAPHS + 2);
}

static unsigned numbers_recorded(struct load *load)
{
	client_clear();
	work(load);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	return client.counts[CUPTI_ACTIVITY_KIND_DRIVER];
}

/* And single ones be switched on, without the kind; the kind overrides what was switched before it. */
static void test_api_by_number(void)
{
	static const unsigned kernels[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0};
	const unsigned launch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	if (!client_find("cuptiActivityEnableDriverApi"))
		return;
	EXPECT_EQUAL(client_start(kernels), 0);
	EXPECT_EQUAL(numbers_recorded(&load), 0);
	EXPECT_EQUAL(CALL(cuptiActivityEnableDriverApi, launch, 1), 0);
	EXPECT_EQUAL(numbers_recorded(&load), LAUNCHES);
	EXPECT_EQUAL(CALL(cuptiActivityEnableDriverApi, launch, 0), 0);
	EXPECT_EQUAL(numbers_recorded(&load), 0);
	EXPECT_EQUAL(CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_DRIVER), 0);
	EXPECT(numbers_recorded(&load) > LAUNCHES);
	EXPECT_EQUAL(CALL(cuptiActivityEnableDriverApi, launch, 1), 0);
	EXPECT_EQUAL(CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_DRIVER), 0);
	EXPECT_EQUAL(numbers_recorded(&load), 0);
	/* With nothing else switched on. */
	client_disable(kernels);
	EXPECT_EQUAL(CALL(cuptiActivityEnableDriverApi, launch, 1), 0);
	EXPECT_EQUAL(numbers_recorded(&load), LAUNCHES);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 0);
	EXPECT_EQUAL(CALL(cuptiActivityEnableDriverApi, 100000, 1), CUPTI_ERROR_INVALID_PARAMETER);
}

static void on_exit_finalize(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			     const void *info)
{
	const CUpti_CallbackData *call = info;
	struct seen *seen = data;

	if (call->callbackSite != CUPTI_API_EXIT ||
	    __atomic_exchange_n(&seen->finalized, 1, __ATOMIC_ACQ_REL))
		return;
	seen->finalize_result = CALL(cuptiFinalize);
	__atomic_store_n(&seen->finalized, 2, __ATOMIC_RELEASE);
}

static volatile bool is_ending;

static void *launch_on(void *data)
{
	struct load *load = data;

	cuCtxSetCurrent(load->context);
	while (!is_ending)
		EXPECT(!cuLaunchKernel(load->function, 8, 1, 1, 128, 1, 1, 0, load->streams[1],
				       NULL, NULL));
	return NULL;
}

/* Again and again from the exit of a call, while another thread launches; ids begin anew. */
static void test_finalize(void)
{
	CUpti_SubscriberHandle subscriber;
	struct load load;
	pthread_t thread;

	prepare(&load);
	EXPECT(client_open(library));
	pthread_create(&thread, NULL, launch_on, &load);
	for (unsigned round = 0; round < 20; round++) {
		struct seen seen = {0};

		client_clear();
		EXPECT_EQUAL(CALL(cuptiSubscribe, &subscriber, on_exit_finalize, &seen), 0);
		EXPECT_EQUAL(client_start(work_kinds), 0);
		work(&load);
		client_disable(work_kinds);
		EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 1), 0);
		EXPECT(client.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] >=
		       LAUNCHES + 3 * GRAPHS);
		EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_MEMCPY], COPIES + 1);
		EXPECT(!client.has_bad_buffer);
		EXPECT_EQUAL(CALL(cuptiEnableDomain, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), 0);
		while (__atomic_load_n(&seen.finalized, __ATOMIC_ACQUIRE) != 2)
			usleep(100);
		EXPECT_EQUAL(seen.finalize_result, 0);
	}
	is_ending = true;
	pthread_join(thread, NULL);
}

/* A runtime call contains its driver call: one id. */
static void test_runtime(void)
{
	static const unsigned kinds[] = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
					 0};
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW);
	int (*synchronize)(void);
	struct load load;

	prepare(&load);
	EXPECT(runtime != NULL);
	if (!runtime)
		return;
	*(void **)&synchronize = dlsym(runtime, "cudaDeviceSynchronize");
	EXPECT_EQUAL(synchronize(), 0);
	EXPECT(client_open(library));
	EXPECT_EQUAL(client_start(kinds), 0);
	EXPECT_EQUAL(synchronize(), 0);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_RUNTIME], 1);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_DRIVER], 1);
	EXPECT_EQUAL(FIELD(client.records[0].bytes, client.records[0].size, API, correlationId),
		     FIELD(client.records[1].bytes, client.records[1].size, API, correlationId));
}

static void test_drops(void)
{
	struct load load;
	size_t dropped;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(client_start(work_kinds), 0);
	work(&load);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	EXPECT_EQUAL(CALL(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped), 0);
	EXPECT(dropped > 0);
	EXPECT_EQUAL(client.record_count + dropped,
		     2 * (LAUNCHES + COPIES + 1 + SETS + GRAPHS + 2) + 2 * GRAPHS);
	EXPECT_EQUAL(CALL(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped), 0);
	EXPECT_EQUAL(dropped, 0);
}

static void test_zero_timestamps(void)
{
	static const unsigned kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0};
	unsigned zeros = 0;
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(client_start(kinds), 0);
	work(&load);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	for (size_t i = 0; i < client.record_count; i++)
		zeros += !FIELD(client.records[i].bytes, client.records[i].size, KERNEL, end);
	EXPECT_EQUAL(zeros, (LAUNCHES + 3 * GRAPHS) / 5);
}

static void test_busy(void)
{
	CUpti_SubscriberHandle subscriber;
	char holder[64] = "";
	struct {
		size_t size;
		const char *name;
		char *holder;
		size_t holder_size;
	} params = {sizeof(params), "test", holder, sizeof(holder)};
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(CALL(cuptiSubscribe, &subscriber, on_callback, NULL),
		     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	if (!client_find("cuptiSubscribe_v2"))
		return;
	EXPECT_EQUAL(CALL(cuptiSubscribe_v2, &subscriber, on_callback, NULL,
			  (CUpti_SubscriberParams *)&params),
		     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	EXPECT(!strcmp(holder, "nsys"));
}

static void test_fail(void)
{
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(client_start(work_kinds), 999);
}

static void test_older_layout(void)
{
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(client_start(work_kinds), 0);
	EXPECT_EQUAL(client_measure(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 200);
	work(&load);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], LAUNCHES + 3 * GRAPHS);
	check_kernels(LAUNCHES * 8 + LAUNCHES * (LAUNCHES - 1) / 2);
}

static void test_mute(void)
{
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(client_start(work_kinds), 0);
	work(&load);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 1), 0);
	EXPECT_EQUAL(client.record_count, 0);
}

/* Late by more than the case may take: only the forced flush hands them over. */
static void test_late_buffers(void)
{
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(client_start(work_kinds), 0);
	work(&load);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
	EXPECT_EQUAL(client.record_count, 0);
	EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 1), 0);
	EXPECT_EQUAL(client.counts[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], LAUNCHES + 3 * GRAPHS);
}

/* The clock registered a second time: in the k-th session k kernels are far off. */
static void test_clock_twice(void)
{
	static const unsigned kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0};
	uint64_t now_ns = client_now_ns();
	struct load load;

	prepare(&load);
	EXPECT(client_open(library));
	EXPECT_EQUAL(CALL(cuptiActivityRegisterTimestampCallback, client_now_ns), 0);
	for (unsigned session = 1; session <= 2; session++) {
		unsigned wrong = 0;

		client_clear();
		if (session == 1)
			EXPECT_EQUAL(client_start(kinds), 0);
		else
			EXPECT_EQUAL(
				CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
				0);
		work(&load);
		EXPECT_EQUAL(CALL(cuptiActivityFlushAll, 0), 0);
		client_disable(kinds);
		for (size_t i = 0; i < client.record_count; i++)
			wrong += FIELD(client.records[i].bytes, client.records[i].size, KERNEL,
				       start) > now_ns + 50000000000000ull;
		EXPECT_EQUAL(wrong, session);
	}
}

/* This client calls CUPTI under the lock that its callback takes: that is seen. */
static void test_lock_across_a_call(void)
{
	struct load load;
	int status;

	if (fork() == 0) {
		prepare(&load);
		if (!client_open(library) || client_start(work_kinds))
			_exit(1);
		work(&load);
		CALL(cuptiActivityFlushAll, 0);
		_exit(0);
	}
	wait(&status);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* A child of fork has no CUDA. */
static void test_fork(void)
{
	struct load load;
	CUdeviceptr memory;
	int status;

	prepare(&load);
	if (fork() == 0)
		_exit(cuMemAlloc(&memory, 100) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
	wait(&status);
	EXPECT_EQUAL(status, 0);
}

static const struct test_case cases[] = {
	{"late_attach", test_late_attach, NULL, NULL},
	{"callbacks", test_callbacks, NULL, NULL},
	{"graph_trace", test_graph_trace, NULL, NULL},
	{"memory", test_memory, NULL, NULL},
	{"dump", test_dump, NULL, NULL},
	{"api_filter", test_api_filter, NULL, NULL},
	{"api_by_number", test_api_by_number, NULL, NULL},
	{"finalize", test_finalize, NULL, NULL},
	{"runtime", test_runtime, NULL, NULL},
	{"drops", test_drops, "SIM_DROP", "10"},
	{"zero_timestamps", test_zero_timestamps, "SIM_ZERO_TIMESTAMPS", "5"},
	{"busy", test_busy, "SIM_BUSY", "nsys"},
	{"fail", test_fail, "SIM_FAIL", "cuptiActivityEnable:999"},
	{"older_layout", test_older_layout, "SIM_LAYOUT", "11080"},
	{"mute", test_mute, "SIM_MUTE", "1"},
	{"late_buffers", test_late_buffers, "SIM_LATE_BUFFERS_MS", "600000"},
	{"clock_twice", test_clock_twice, NULL, NULL},
	{"lock_across_a_call", test_lock_across_a_call, "SIM_MEANWHILE_MS", "500"},
	{"fork", test_fork, NULL, NULL},
};

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: test_cupti LIBCUPTI\n");
		return 2;
	}
	library = argv[1];
	return run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
