/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A user of CUPTI that shares it: 13.2 and later, by the functions whose first argument is its subscriber and by no other. It
 * subscribes for its first profile, and keeps that. With SIM_PROFILER_ALONE=1 in the environment it allows nobody beside it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <cupti.h>
#include "profiler.h"

#define BUFFER_BYTES (256u << 10)

/* CUpti_SubscriberParams of 13.2. */
struct params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_name_size;
	uint8_t allow_multiple;
};

typedef void (*requested_v2)(uint8_t **buffer, size_t *size, size_t *max_records, void *info);
typedef void (*completed_v2)(uint8_t *buffer, size_t size, size_t valid, void *info);

static const int kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
			    CUPTI_ACTIVITY_KIND_RUNTIME};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* What it calls: the headers of the build may not have them. */
static struct {
	int (*subscribe)(void **subscriber, void *callback, void *data, struct params *params);
	int (*unsubscribe)(void *subscriber);
	int (*register_callbacks)(void *subscriber, requested_v2 requested, completed_v2 completed);
	int (*enable)(void *subscriber, int kind, void *config);
	int (*disable)(void *subscriber, int kind, void *config);
	int (*next)(void *subscriber, uint8_t *buffer, size_t valid, CUpti_Activity **record);
	int (*next_of_old)(uint8_t *buffer, size_t valid,
			   CUpti_Activity **record); /* 13.2 has no other */
	int (*flush)(uint32_t flags);
} calls;

static void *subscriber;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_profile counts;

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static int next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	return calls.next ? calls.next(subscriber, buffer, valid, record)
			  : calls.next_of_old(buffer, valid, record);
}

static void on_complete(uint8_t *buffer, size_t size, size_t valid, void *info)
{
	CUpti_Activity *record = NULL;

	pthread_mutex_lock(&lock);
	counts.foreign_buffers += size != BUFFER_BYTES;
	while (!next_record(buffer, valid, &record))
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			counts.kernels++;
		else
			counts.others++;
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static void on_call(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *call)
{
}

static const char *open_cupti(const char *path)
{
	static const struct {
		const char *name;
		void **function;
	} names[] = {
		{"cuptiSubscribe_v2", (void **)&calls.subscribe},
		{"cuptiUnsubscribe", (void **)&calls.unsubscribe},
		{"cuptiActivityRegisterCallbacks_v2", (void **)&calls.register_callbacks},
		{"cuptiActivityEnable_v2", (void **)&calls.enable},
		{"cuptiActivityDisable_v2", (void **)&calls.disable},
		{"cuptiActivityGetNextRecord_v2", (void **)&calls.next},
		{"cuptiActivityGetNextRecord", (void **)&calls.next_of_old},
		{"cuptiActivityFlushAll", (void **)&calls.flush},
	};
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < sizeof(names) / sizeof(names[0]); i++)
		*names[i].function = dlsym(library, names[i].name);
	return library ? NULL : dlerror();
}

static void begin(struct sim_profile *profile)
{
	struct params params = {.size = sizeof(params),
				.name = "sharing",
				.allow_multiple = !getenv("SIM_PROFILER_ALONE")};
	int result;

	pthread_mutex_lock(&lock);
	counts = (struct sim_profile){0};
	pthread_mutex_unlock(&lock);
	result = subscriber ? 0 : calls.subscribe(&subscriber, (void *)on_call, NULL, &params);
	if (result)
		subscriber = NULL;
	else
		result = calls.register_callbacks(subscriber, on_request, on_complete);
	for (size_t i = 0; i < KIND_COUNT && !result; i++)
		result = calls.enable(subscriber, kinds[i], NULL);
	profile->result = counts.result = result;
}

static void end(struct sim_profile *profile)
{
	for (size_t i = 0; i < KIND_COUNT && subscriber; i++)
		calls.disable(subscriber, kinds[i], NULL);
	calls.flush(1);
	pthread_mutex_lock(&lock);
	*profile = counts;
	pthread_mutex_unlock(&lock);
}

static void leave(void)
{
	if (subscriber)
		calls.unsubscribe(subscriber);
	subscriber = NULL;
}

const struct sim_profiler simProfiler = {open_cupti, begin, end, leave};
