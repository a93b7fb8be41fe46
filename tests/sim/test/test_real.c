/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulated libcupti beside the real one of the same release, for what the real one does without a driver:
 * test_real OURS REAL. Each library is asked in a process of its own, in which there is no libcuda.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "client.h"

#define KINDS	  64
#define CBIDS	  900
#define NAME_SIZE 96

enum call {
	CALL_GET_VERSION,
	CALL_GET_TIMESTAMP,
	CALL_REGISTER_CALLBACKS,
	CALL_REGISTER_TIMESTAMP,
	CALL_ENABLE,
	CALL_DISABLE,
	CALL_SET_THREAD_ID_TYPE,
	CALL_FLUSH_PERIOD,
	CALL_FLUSH_ALL,
	CALL_PUSH_EXTERNAL,
	CALL_DROPPED,
	CALL_SUBSCRIBE,
	CALL_FINALIZE,
	CALL_COUNT,
};

static const char *const call_names[CALL_COUNT] = {
	"GetVersion",
	"GetTimestamp",
	"RegisterCallbacks",
	"RegisterTimestampCallback",
	"Enable",
	"Disable",
	"SetThreadIdType",
	"FlushPeriod",
	"FlushAll",
	"PushExternalCorrelationId",
	"GetNumDroppedRecords",
	"Subscribe",
	"Finalize",
};

/* What a library answers; shared with the process that asks. */
struct answers {
	uint32_t version;
	size_t sizes[KINDS];
	int results[CALL_COUNT];
	char names[3][CBIDS][NAME_SIZE];
	int limits[3];
};

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = NULL;
}

static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid)
{
}

static void on_callback(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			const void *info)
{
}

static void ask_names(struct answers *answers)
{
	const char *name;

	for (unsigned domain = 1; domain <= 2; domain++) {
		for (unsigned cbid = 1; cbid < CBIDS; cbid++) {
			name = NULL;
			if (CALL(cuptiGetCallbackName, (CUpti_CallbackDomain)domain, cbid, &name) ||
			    !name)
				continue;
			answers->limits[domain] = (int)cbid;
			snprintf(answers->names[domain][cbid], NAME_SIZE, "%s", name);
		}
	}
}

static void ask(struct answers *answers)
{
	CUpti_SubscriberHandle subscriber;
	uint64_t time;
	size_t dropped;
	int *results = answers->results;

	results[CALL_GET_VERSION] = CALL(cuptiGetVersion, &answers->version);
	results[CALL_GET_TIMESTAMP] = CALL(cuptiGetTimestamp, &time);
	for (unsigned kind = 1; kind < KINDS; kind++)
		answers->sizes[kind] = client_measure(kind);
	ask_names(answers);
	results[CALL_REGISTER_CALLBACKS] =
		CALL(cuptiActivityRegisterCallbacks, on_request, on_complete);
	results[CALL_REGISTER_TIMESTAMP] =
		CALL(cuptiActivityRegisterTimestampCallback, client_now_ns);
	results[CALL_ENABLE] = CALL(cuptiActivityEnable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	results[CALL_DISABLE] = CALL(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	results[CALL_SET_THREAD_ID_TYPE] =
		CALL(cuptiSetThreadIdType, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	results[CALL_FLUSH_PERIOD] = CALL(cuptiActivityFlushPeriod, 100);
	results[CALL_FLUSH_ALL] = CALL(cuptiActivityFlushAll, 0);
	results[CALL_PUSH_EXTERNAL] = CALL(cuptiActivityPushExternalCorrelationId,
					   CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 1);
	results[CALL_DROPPED] = CALL(cuptiActivityGetNumDroppedRecords, NULL, 0, &dropped);
	results[CALL_SUBSCRIBE] = CALL(cuptiSubscribe, &subscriber, on_callback, NULL);
	results[CALL_FINALIZE] = -SIGSEGV;
	results[CALL_FINALIZE] = CALL(cuptiFinalize);
}

static struct answers *ask_library(const char *path)
{
	struct answers *answers = mmap(NULL, sizeof(*answers), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	fflush(stdout);
	if (fork() == 0) {
		alarm(30);
		if (client_open(path))
			ask(answers);
		_exit(0);
	}
	wait(&status);
	return answers;
}

static unsigned finish(const char *name, unsigned differences)
{
	printf("%s %s\n", differences ? "not ok" : "ok", name);
	return differences;
}

int main(int argc, char **argv)
{
	const struct answers *ours, *real;
	unsigned failed = 0, differences = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: test_real OURS REAL\n");
		return 2;
	}
	ours = ask_library(argv[1]);
	real = ask_library(argv[2]);
	for (unsigned kind = 1; kind < KINDS; kind++) {
		if (ours->sizes[kind] == real->sizes[kind])
			continue;
		printf("# kind %u: %zu bytes, the real one has %zu\n", kind, ours->sizes[kind],
		       real->sizes[kind]);
		differences++;
	}
	failed += finish("real_sizes", differences);
	differences = 0;
	for (unsigned call = 0; call < CALL_COUNT; call++) {
		if (ours->results[call] == real->results[call])
			continue;
		/* The real one crashes or not by what was called before; ours always does. */
		if (call == CALL_FINALIZE && ours->results[call] == -SIGSEGV)
			continue;
		printf("# %s: %d, the real one returns %d\n", call_names[call], ours->results[call],
		       real->results[call]);
		differences++;
	}
	failed += finish("real_results", differences);
	differences = ours->version != real->version;
	if (differences)
		printf("# version %u, the real one is %u\n", ours->version, real->version);
	for (unsigned domain = 1; domain <= 2; domain++) {
		if (ours->limits[domain] != real->limits[domain]) {
			printf("# domain %u: ids to %d, the real one to %d\n", domain,
			       ours->limits[domain], real->limits[domain]);
			differences++;
		}
		/* Names vary between releases: ours are those of the headers of the build. */
		for (unsigned cbid = 1; cbid < CBIDS && ours->version == CUPTI_API_VERSION;
		     cbid++) {
			if (!strcmp(ours->names[domain][cbid], real->names[domain][cbid]))
				continue;
			printf("# domain %u id %u: %s, the real one says %s\n", domain, cbid,
			       ours->names[domain][cbid], real->names[domain][cbid]);
			differences++;
		}
	}
	failed += finish("real_ids", differences);
	return failed != 0;
}
