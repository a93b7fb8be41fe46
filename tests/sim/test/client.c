/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "client.h"

#define BUFFER_BYTES (64u << 10)

struct client client;
static pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t client_field(const void *record, size_t record_size, size_t offset, size_t size)
{
	uint64_t value = 0;

	if (offset + size <= record_size)
		memcpy(&value, (const uint8_t *)record + offset, size);
	return value;
}

void *client_find(const char *name)
{
	return dlsym(client.library, name);
}

bool client_open(const char *path)
{
	client.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!client.library) {
		printf("not ok open %s: %s\n", path, dlerror());
		return false;
	}
	return true;
}

uint64_t client_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

size_t client_measure(unsigned kind)
{
	static _Alignas(8) uint8_t buffer[2048];
	CUpti_Activity *first = NULL, *second = NULL;
	uint64_t number = kind;

	for (size_t i = 0; i < sizeof(buffer); i += 8)
		memcpy(buffer + i, &number, 8);
	if (CALL(cuptiActivityGetNextRecord, buffer, sizeof(buffer), &first))
		return 0;
	second = first;
	if (CALL(cuptiActivityGetNextRecord, buffer, sizeof(buffer), &second))
		return 0;
	return (size_t)((uint8_t *)second - (uint8_t *)first);
}

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
	__atomic_fetch_add(&client.buffers_requested, 1, __ATOMIC_RELAXED);
}

static void keep(const CUpti_Activity *record, size_t size)
{
	struct client_record *kept;

	if (client.record_count % 4096 == 0)
		client.records = realloc(client.records,
					 (client.record_count + 4096) * sizeof(client.records[0]));
	kept = &client.records[client.record_count++];
	kept->kind = record->kind;
	kept->size = size;
	memcpy(kept->bytes, record, size);
	client.counts[record->kind]++;
}

static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid)
{
	size_t sizes[64] = {0};
	size_t at = 0;

	pthread_mutex_lock(&record_lock);
	client.buffers_completed++;
	while (at + 4 <= valid) {
		const CUpti_Activity *record = (const CUpti_Activity *)(buffer + at);

		if (record->kind >= 64) {
			client.has_bad_buffer = true;
			break;
		}
		if (!sizes[record->kind])
			sizes[record->kind] = client_measure(record->kind);
		if (!sizes[record->kind] || at + sizes[record->kind] > valid) {
			client.has_bad_buffer = true;
			break;
		}
		keep(record, sizes[record->kind]);
		at += sizes[record->kind];
	}
	pthread_mutex_unlock(&record_lock);
	free(buffer);
}

CUptiResult client_start(const unsigned *kinds)
{
	CUptiResult result = CALL(cuptiActivityRegisterTimestampCallback, client_now_ns);

	if (!result)
		result = CALL(cuptiActivityRegisterCallbacks, on_request, on_complete);
	for (; !result && *kinds; kinds++)
		result = CALL(cuptiActivityEnable, (CUpti_ActivityKind)*kinds);
	return result;
}

void client_disable(const unsigned *kinds)
{
	for (; *kinds; kinds++)
		CALL(cuptiActivityDisable, (CUpti_ActivityKind)*kinds);
}

void client_clear(void)
{
	pthread_mutex_lock(&record_lock);
	client.record_count = 0;
	memset(client.counts, 0, sizeof(client.counts));
	pthread_mutex_unlock(&record_lock);
}

const struct client_record *client_find_record(unsigned kind, uint32_t correlation)
{
	size_t offset = kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? AT_KERNEL_correlationId
			: kind == CUPTI_ACTIVITY_KIND_MEMCPY	      ? AT_MEMCPY_correlationId
			: kind == CUPTI_ACTIVITY_KIND_MEMSET	      ? AT_MEMSET_correlationId
								      : AT_API_correlationId;

	for (size_t i = 0; i < client.record_count; i++)
		if (client.records[i].kind == kind &&
		    client_field(client.records[i].bytes, client.records[i].size, offset, 4) ==
			    correlation)
			return &client.records[i];
	return NULL;
}
