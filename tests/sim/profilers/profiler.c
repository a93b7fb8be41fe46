/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIM_PROFILER, given by the build:
 *	KINETO	subscribes once in the life of a process, and is refused for ever when it is refused once. Drops buffers
 *		that it does not know. At its end kinds 10, 1, 2 and what else it switched on go off; with TEARDOWN_CUPTI=1 in
 *		the environment it unsubscribes and calls cuptiFinalize on the return of a call of CUDA.
 *	XLA	asks each time anew. Keeps all buffers that it is handed, and frees them at its end.
 *	PROTON	asks each time anew. Frees each buffer in the callback.
 * With SIM_PROFILER_UNSUBSCRIBED=1 in the environment it asks for no subscription, as users of nothing but activities may.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cupti.h>
#include "profiler.h"

enum { KINETO, XLA, PROTON };

#define BUFFER_BYTES (256u << 10)
#define BUFFERS_MAX  4096
#define TEARDOWN_MS  2000

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_RUNTIME,
	CUPTI_ACTIVITY_KIND_OVERHEAD,
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static void *library;
static CUpti_SubscriberHandle subscriber;
static bool is_subscribed, is_refused_for_ever;
static atomic_int teardown; /* 1: wanted, 2: done */

/* Its own buffers that are out; foreign ones that it keeps. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *own[BUFFERS_MAX], *kept[BUFFERS_MAX];
static size_t kept_count;
static struct sim_profile counts;

#define CALL(name, ...) ((__typeof__(&name))dlsym(library, #name))(__VA_ARGS__)

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < BUFFERS_MAX; i++)
		if (!own[i]) {
			own[i] = *buffer;
			break;
		}
	pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static bool is_own(const uint8_t *buffer)
{
	for (size_t i = 0; i < BUFFERS_MAX; i++)
		if (own[i] == buffer) {
			own[i] = NULL;
			return true;
		}
	return false;
}

static void read_records(uint8_t *buffer, size_t valid)
{
	CUpti_Activity *record = NULL;

	while (!CALL(cuptiActivityGetNextRecord, buffer, valid, &record))
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			counts.kernels++;
		else
			counts.others++;
}

static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid)
{
	bool ours;

	pthread_mutex_lock(&lock);
	ours = is_own(buffer);
	counts.foreign_buffers += !ours;
	if (ours || SIM_PROFILER != KINETO)
		read_records(buffer, valid);
	if (SIM_PROFILER == PROTON || (SIM_PROFILER == KINETO && ours)) {
		counts.foreign_freed += !ours;
		free(buffer);
	} else if (SIM_PROFILER == XLA && kept_count < BUFFERS_MAX) {
		counts.foreign_freed += !ours;
		kept[kept_count++] = buffer;
	}
	pthread_mutex_unlock(&lock);
}

static void on_call(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *call)
{
	const CUpti_CallbackData *told = call;
	int wanted = 1;

	if (domain > CUPTI_CB_DOMAIN_RUNTIME_API || told->callbackSite != CUPTI_API_EXIT ||
	    !atomic_compare_exchange_strong(&teardown, &wanted, 3))
		return;
	CALL(cuptiUnsubscribe, subscriber);
	CALL(cuptiFinalize);
	is_subscribed = false;
	atomic_store(&teardown, 2);
}

static const char *open_cupti(const char *path)
{
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return library ? NULL : dlerror();
}

static CUptiResult subscribe(void)
{
	CUptiResult result;

	if (is_subscribed || getenv("SIM_PROFILER_UNSUBSCRIBED"))
		return CUPTI_SUCCESS;
	if (is_refused_for_ever)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	result = CALL(cuptiSubscribe, &subscriber, on_call, NULL);
	is_subscribed = !result;
	is_refused_for_ever = result && SIM_PROFILER == KINETO;
	return result;
}

static void begin(struct sim_profile *profile)
{
	CUptiResult result;

	pthread_mutex_lock(&lock);
	counts = (struct sim_profile){0};
	pthread_mutex_unlock(&lock);
	result = subscribe();
	if (!result)
		result = CALL(cuptiActivityRegisterCallbacks, on_request, on_complete);
	for (size_t i = 0; i < KIND_COUNT && !result; i++)
		result = CALL(cuptiActivityEnable, kinds[i]);
	profile->result = counts.result = (int)result;
}

static void pause_ms(long milliseconds)
{
	struct timespec pause = {0, milliseconds * 1000000};

	nanosleep(&pause, NULL);
}

/* Some other thread calls CUDA. */
static void take_down(void)
{
	int wanted = 1;

	atomic_store(&teardown, 1);
	CALL(cuptiEnableDomain, 1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	for (int waited = 0; waited < TEARDOWN_MS && atomic_load(&teardown) == 1; waited++)
		pause_ms(1);
	if (atomic_compare_exchange_strong(&teardown, &wanted, 0))
		CALL(cuptiEnableDomain, 0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
	while (atomic_load(&teardown) == 3)
		pause_ms(1);
}

static void end(struct sim_profile *profile)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		CALL(cuptiActivityDisable, kinds[i]);
	CALL(cuptiActivityFlushAll, 1);
	pthread_mutex_lock(&lock);
	while (kept_count)
		free(kept[--kept_count]);
	*profile = counts;
	pthread_mutex_unlock(&lock);
}

static void leave(void)
{
	if (SIM_PROFILER == KINETO && is_subscribed && getenv("TEARDOWN_CUPTI"))
		take_down();
	if (SIM_PROFILER != KINETO && is_subscribed) {
		CALL(cuptiUnsubscribe, subscriber);
		is_subscribed = false;
	}
}

const struct sim_profiler simProfiler = {open_cupti, begin, end, leave};
