/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A user of CUPTI that shares it: 13.2 and later, by the functions whose first argument is its subscriber and by no other. It
 * subscribes for its first profile, and keeps that. From 13.3 on it chooses the fields of its records, as PyTorch does, and finds them by the
 * layouts that its buffers come back with; a record that has not what it must have does not count. With SIM_PROFILER_ALONE=1 in the environment it allows nobody beside it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cupti.h>
#include "../cupti/chosen_fields.h"
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

/* Ids of fields: KERNEL_FIELD_..., MEMCPY_FIELD_..., API_FIELD_... of 13.3; the first is the kind. */
static const struct {
	int kind;
	int ids[8];
	size_t id_count;
	int start, end, correlation;
} kinds[] = {
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, {0, 7, 8, 10, 11, 12, 22, 24}, 8, 7, 8, 22},
	{CUPTI_ACTIVITY_KIND_MEMCPY, {0, 1, 5, 6, 7, 8, 10, 11}, 8, 6, 7, 11},
	{CUPTI_ACTIVITY_KIND_RUNTIME, {0, 1, 2, 3, 4, 5, 6}, 7, 2, 3, 6},
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* What it calls: the headers of the build may not have them. */
static struct {
	int (*subscribe)(void **subscriber, void *callback, void *data, struct params *params);
	int (*unsubscribe)(void *subscriber);
	int (*register_callbacks)(void *subscriber, requested_v2 requested, completed_v2 completed);
	int (*set_attribute)(void *subscriber, unsigned attribute, size_t *size, void *value);
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

/* Of a record of chosen fields; ~0: it is not there. */
static uint64_t field_of(const struct sim_layout *layout, const CUpti_Activity *record, int id)
{
	uint64_t value = 0;

	for (size_t i = 0; i < layout->count; i++) {
		const struct sim_layout_entry *entry = &layout->entries[i];

		if (entry->id != id || entry->size > sizeof(value))
			continue;
		memcpy(&value, (const uint8_t *)record + entry->offset, entry->size);
		return value;
	}
	return ~0ull;
}

/* The layouts do not say of which kinds they are: one that has just the fields that were asked for. */
static const struct sim_layout *layout_of(const struct sim_complete_info *info, size_t kind)
{
	for (size_t i = 0; i < info->layout_count; i++) {
		const struct sim_layout *layout = info->layouts[i];
		size_t same = 0;

		while (same < kinds[kind].id_count && same < layout->count &&
		       layout->entries[same].id == kinds[kind].ids[same])
			same++;
		if (same == kinds[kind].id_count && same == layout->count)
			return layout;
	}
	return NULL;
}

static bool is_whole(const struct sim_complete_info *info, const CUpti_Activity *record)
{
	const struct sim_layout *layout;
	size_t kind = 0;

	if (!calls.next)
		return true;
	while (kind < KIND_COUNT && kinds[kind].kind != (int)record->kind)
		kind++;
	layout = kind < KIND_COUNT ? layout_of(info, kind) : NULL;
	return layout && field_of(layout, record, kinds[kind].correlation) - 1 < ~0ull - 1 &&
	       field_of(layout, record, kinds[kind].start) &&
	       field_of(layout, record, kinds[kind].end) != ~0ull &&
	       field_of(layout, record, kinds[kind].start) <=
		       field_of(layout, record, kinds[kind].end);
}

static void on_complete(uint8_t *buffer, size_t size, size_t valid, void *info)
{
	CUpti_Activity *record = NULL;

	pthread_mutex_lock(&lock);
	counts.foreign_buffers += size != BUFFER_BYTES;
	while (!next_record(buffer, valid, &record))
		if (!is_whole(info, record))
			continue;
		else if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
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
		{"cuptiActivitySetAttribute_v2", (void **)&calls.set_attribute},
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

/* Before any kind is enabled. */
static int choose_fields(void)
{
	uint8_t on = 1;
	size_t size = sizeof(on);

	return calls.next ? calls.set_attribute(subscriber, SIM_USER_DEFINED_RECORDS, &size, &on)
			  : 0;
}

static int enable(size_t kind)
{
	struct sim_activity_config config = {.size = sizeof(config),
					     .selection = {sizeof(config.selection),
							   kinds[kind].id_count,
							   (int *)kinds[kind].ids}};

	return calls.enable(subscriber, kinds[kind].kind, calls.next ? &config : NULL);
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
	if (!result)
		result = choose_fields();
	for (size_t i = 0; i < KIND_COUNT && !result; i++)
		result = enable(i);
	profile->result = counts.result = result;
}

static void end(struct sim_profile *profile)
{
	for (size_t i = 0; i < KIND_COUNT && subscriber; i++)
		calls.disable(subscriber, kinds[i].kind, NULL);
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
