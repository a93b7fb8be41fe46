/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/gpu_counters.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "cuda/nvml.h"

#define READ_EVERY_NS	(100 * NS_PER_MILLISECOND)
#define PCIE_EVERY	10 /* readings: each takes 40 ms */
#define PROCESSES_MAX	64 /* of a GPU of which it is known what they have there */
#define STOP_TIMEOUT_NS (200 * NS_PER_MILLISECOND)

/* A GPU as a source numbers it. */
struct known_device {
	u32 source, pid, id;
	u8 uuid[16];
	u64 told_ns; /* the reading that was told last */
	struct record_gpu_environment told;
	bool place_told;
	u32 told_users[PROCESSES_MAX];
	u32 told_user_count;
};

/* A GPU when the recording began. */
struct at_attach {
	u8 uuid[16];
	struct nvml_place place;
	u64 memory_used_bytes;
	u32 process_count;
	struct nvml_process_memory processes[PROCESSES_MAX];
};

/* Who has a context on a GPU. */
struct users {
	u8 uuid[16];
	u32 count;
	u32 pids[PROCESSES_MAX];
};

struct reading {
	u8 uuid[16];
	u64 ts; /* 0: none yet */
	struct nvml_values values;
	u64 nvlink_sent_kib_s, nvlink_received_kib_s; /* since the reading before */
};

struct gpu_counters {
	struct record_source inner;
	/* The drain thread's. */
	struct known_device *devices;
	size_t device_count, device_capacity;
	record_callback callback;
	void *callback_data;
	/* Both threads', under the lock. */
	pthread_mutex_t lock;
	struct reading readings[NVML_DEVICES_MAX];
	u32 reading_count;
	struct at_attach *at_attach; /* NVML_DEVICES_MAX */
	u32 at_attach_count;
	struct users *users;		    /* NVML_DEVICES_MAX */
	u64 window_start_ns, window_end_ns; /* 0: not yet */
	bool stopping, ended;
	pthread_cond_t changed;
	pthread_t thread;
};

/* ---- the reading thread ---- */

static u64 rate(u64 now, u64 before, u64 duration_ns)
{
	if (now == ~0ULL || before == ~0ULL || now < before || !duration_ns)
		return ~0ULL;
	return (double)(now - before) * NS_PER_SECOND / duration_ns;
}

static void publish(struct gpu_counters *counters, u32 index, const u8 *uuid,
		    const struct nvml_values *values)
{
	struct reading *reading = &counters->readings[index];
	struct reading before = *reading;
	u64 now = clock_monotonic_ns(), lasted = before.ts ? now - before.ts : 0;

	pthread_mutex_lock(&counters->lock);
	*reading = (struct reading){.ts = now, .values = *values};
	memcpy(reading->uuid, uuid, sizeof(reading->uuid));
	reading->nvlink_sent_kib_s =
		rate(values->nvlink_sent_kib, before.values.nvlink_sent_kib, lasted);
	reading->nvlink_received_kib_s =
		rate(values->nvlink_received_kib, before.values.nvlink_received_kib, lasted);
	if (index >= counters->reading_count)
		counters->reading_count = index + 1;
	pthread_mutex_unlock(&counters->lock);
}

/* The lock is held. Until the flag is set, no longer than so; whether it is. */
static bool wait_for_flag(struct gpu_counters *counters, const bool *flag, u64 timeout_ns)
{
	u64 end_ns = clock_monotonic_ns() + timeout_ns;
	const struct timespec until = {end_ns / NS_PER_SECOND, end_ns % NS_PER_SECOND};

	while (!*flag &&
	       pthread_cond_timedwait(&counters->changed, &counters->lock, &until) != ETIMEDOUT)
		;
	return *flag;
}

/* true: it is time to stop. */
static bool wait_for_next(struct gpu_counters *counters)
{
	bool stopping;

	pthread_mutex_lock(&counters->lock);
	stopping = wait_for_flag(counters, &counters->stopping, READ_EVERY_NS);
	pthread_mutex_unlock(&counters->lock);
	return stopping;
}

static void read_at_attach(struct gpu_counters *counters, const struct nvml *nvml)
{
	for (u32 i = 0; i < nvml_count(nvml); i++) {
		struct at_attach *device = &counters->at_attach[i];
		struct nvml_values values;

		memset(&values, 0xff, sizeof(values));
		nvml_read(nvml, i, &values);
		memcpy(device->uuid, nvml_uuid(nvml, i), sizeof(device->uuid));
		device->memory_used_bytes = values.memory_used_bytes;
		nvml_read_place(nvml, i, &device->place);
		device->process_count =
			nvml_read_processes(nvml, i, device->processes, PROCESSES_MAX);
	}
	pthread_mutex_lock(&counters->lock);
	counters->at_attach_count = nvml_count(nvml);
	pthread_mutex_unlock(&counters->lock);
}

static void read_users(struct gpu_counters *counters, const struct nvml *nvml, u32 index)
{
	struct nvml_process_memory processes[PROCESSES_MAX];
	u32 count = nvml_read_processes(nvml, index, processes, PROCESSES_MAX);
	struct users *users = &counters->users[index];

	pthread_mutex_lock(&counters->lock);
	memcpy(users->uuid, nvml_uuid(nvml, index), sizeof(users->uuid));
	users->count = count;
	for (u32 i = 0; i < count; i++)
		users->pids[i] = processes[i].pid;
	pthread_mutex_unlock(&counters->lock);
}

static void *read_main(void *data)
{
	struct gpu_counters *counters = data;
	const char *why;
	struct nvml *nvml = nvml_open(&why);
	struct nvml_values values[NVML_DEVICES_MAX];
	u32 turn = 0;

	if (!nvml)
		log_debug("no counters of the GPUs: %s", why);
	memset(values, 0xff, sizeof(values));
	if (nvml)
		read_at_attach(counters, nvml);
	while (nvml && !wait_for_next(counters)) {
		for (u32 i = 0; i < nvml_count(nvml); i++) {
			if (turn % PCIE_EVERY == 0) {
				read_users(counters, nvml, i);
				nvml_read_pcie(nvml, i, &values[i]);
			}
			nvml_read(nvml, i, &values[i]);
			publish(counters, i, nvml_uuid(nvml, i), &values[i]);
		}
		turn++;
	}
	nvml_close(nvml);
	pthread_mutex_lock(&counters->lock);
	counters->ended = true;
	pthread_cond_broadcast(&counters->changed);
	pthread_mutex_unlock(&counters->lock);
	return NULL;
}

/* ---- the drain thread ---- */

static int note_device(struct gpu_counters *counters, const struct record_device *device)
{
	struct known_device *known;

	for (size_t i = 0; i < counters->device_count; i++)
		if (counters->devices[i].source == device->header.source &&
		    counters->devices[i].id == device->id)
			return 0;
	if (array_reserve(&counters->devices, &counters->device_capacity,
			  counters->device_count + 1) < 0)
		return -ENOMEM;
	known = &counters->devices[counters->device_count++];
	*known = (struct known_device){
		.source = device->header.source, .pid = device->header.pid, .id = device->id};
	memcpy(known->uuid, device->uuid, sizeof(known->uuid));
	return 0;
}

static int take_record(void *data, const struct record_header *record, size_t size_bytes)
{
	struct gpu_counters *counters = data;

	if (record->kind == KIND_device && size_bytes >= sizeof(struct record_device) &&
	    note_device(counters, (const struct record_device *)record))
		return -ENOMEM;
	return counters->callback(counters->callback_data, record, size_bytes);
}

static struct record_gpu_environment record_of(const struct known_device *device,
					       const struct reading *reading)
{
	const struct nvml_values *values = &reading->values;

	return (struct record_gpu_environment){
		.header = {.size_bytes = sizeof(struct record_gpu_environment),
			   .kind = KIND_gpu_environment,
			   .source = device->source,
			   .pid = device->pid},
		.device = device->id,
		.sm_clock_mhz = values->sm_clock_mhz,
		.memory_clock_mhz = values->memory_clock_mhz,
		.temperature_celsius = values->temperature_celsius,
		.power_milliwatts = values->power_milliwatts,
		.power_limit_milliwatts = values->power_limit_milliwatts,
		.fan_percent = values->fan_percent,
		.busy_percent = values->busy_percent,
		.memory_busy_percent = values->memory_busy_percent,
		.pcie_sent_kb_s = values->pcie_sent_kb_s,
		.pcie_received_kb_s = values->pcie_received_kb_s,
		.memory_used_bytes = values->memory_used_bytes,
		.throttle_reasons = values->throttle_reasons,
		.nvlink_sent_kib_s = reading->nvlink_sent_kib_s,
		.nvlink_received_kib_s = reading->nvlink_received_kib_s,
	};
}

/* 1: told, 0: nothing has changed, or what the callback said. */
static int tell(struct gpu_counters *counters, struct known_device *device,
		const struct reading *reading)
{
	struct record_gpu_environment record = record_of(device, reading);
	int result;

	if (!memcmp(&record, &device->told, sizeof(record)))
		return 0;
	device->told = record;
	record.header.ts = reading->ts;
	result = counters->callback(counters->callback_data, &record.header, sizeof(record));
	return result < 0 ? result : 1;
}

static bool in_window(const struct gpu_counters *counters, u64 ts)
{
	return counters->window_start_ns && ts >= counters->window_start_ns &&
	       (!counters->window_end_ns || ts <= counters->window_end_ns);
}

static u64 memory_of(const struct at_attach *device, u32 pid)
{
	for (u32 i = 0; i < device->process_count; i++)
		if (device->processes[i].pid == pid)
			return device->processes[i].bytes;
	return ~0ULL;
}

/* Once for each; the reading thread changes nothing of it any more when the count is set. 1: told, 0: not known, or -errno. */
static int tell_at_attach(struct gpu_counters *counters, struct known_device *device)
{
	const struct at_attach *found = NULL;
	u32 count;

	pthread_mutex_lock(&counters->lock);
	count = counters->window_start_ns ? counters->at_attach_count : 0;
	pthread_mutex_unlock(&counters->lock);
	for (u32 i = 0; i < count && !found; i++)
		if (!memcmp(counters->at_attach[i].uuid, device->uuid, sizeof(device->uuid)))
			found = &counters->at_attach[i];
	if (!found || device->place_told)
		return 0;
	device->place_told = true;
	struct record_gpu_at_attach fact = {
		.header = {.size_bytes = sizeof(fact),
			   .kind = KIND_gpu_at_attach,
			   .source = device->source,
			   .ts = counters->window_start_ns,
			   .pid = device->pid},
		.device = device->id,
		.pci_domain = found->place.pci_domain,
		.pci_bus = found->place.pci_bus,
		.pci_device = found->place.pci_device,
		.memory_used_bytes = found->memory_used_bytes,
		.process_memory_bytes = memory_of(found, device->pid),
	};
	int result = counters->callback(counters->callback_data, &fact.header, sizeof(fact));

	return result < 0 ? result : 1;
}

/* Told of already, or recorded itself on that GPU: its records say so. */
static bool is_told(const struct gpu_counters *counters, const struct known_device *device, u32 pid)
{
	for (u32 i = 0; i < device->told_user_count; i++)
		if (device->told_users[i] == pid)
			return true;
	for (size_t i = 0; i < counters->device_count; i++)
		if (counters->devices[i].pid == pid &&
		    !memcmp(counters->devices[i].uuid, device->uuid, sizeof(device->uuid)))
			return true;
	return false;
}

static int tell_user(struct gpu_counters *counters, struct known_device *device, u32 pid)
{
	struct record_gpu_user fact = {
		.header = {.size_bytes = sizeof(fact),
			   .kind = KIND_gpu_user,
			   .source = device->source,
			   .ts = counters->window_start_ns,
			   .pid = device->pid},
		.device = device->id,
		.user = pid,
	};
	char path[32];
	FILE *file;

	if (device->told_user_count == PROCESSES_MAX)
		return 0;
	device->told_users[device->told_user_count++] = pid;
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = fopen(path, "re");
	if (file) {
		size_t length = fread(fact.comm, 1, sizeof(fact.comm), file);

		fclose(file);
		if (length && fact.comm[length - 1] == '\n')
			fact.comm[length - 1] = '\0';
	}
	return counters->callback(counters->callback_data, &fact.header, sizeof(fact));
}

/* How many were told, or what the callback said. */
static int tell_users(struct gpu_counters *counters, struct known_device *device)
{
	struct users users = {0};
	int told = 0;

	pthread_mutex_lock(&counters->lock);
	for (u32 i = 0; i < NVML_DEVICES_MAX && counters->window_start_ns; i++)
		if (counters->users[i].count &&
		    !memcmp(counters->users[i].uuid, device->uuid, sizeof(device->uuid)))
			users = counters->users[i];
	pthread_mutex_unlock(&counters->lock);
	for (u32 i = 0; i < users.count; i++) {
		int result;

		if (is_told(counters, device, users.pids[i]))
			continue;
		result = tell_user(counters, device, users.pids[i]);
		if (result < 0)
			return result;
		told++;
	}
	return told;
}

static int tell_all(struct gpu_counters *counters)
{
	int count = 0;

	for (size_t i = 0; i < counters->device_count; i++) {
		struct known_device *device = &counters->devices[i];
		struct reading reading = {0};
		int result = tell_at_attach(counters, device);

		if (result < 0)
			return result;
		count += result;
		result = tell_users(counters, device);
		if (result < 0)
			return result;
		count += result;
		pthread_mutex_lock(&counters->lock);
		for (u32 j = 0; j < counters->reading_count; j++)
			if (in_window(counters, counters->readings[j].ts) &&
			    !memcmp(counters->readings[j].uuid, device->uuid, sizeof(device->uuid)))
				reading = counters->readings[j];
		pthread_mutex_unlock(&counters->lock);
		if (!reading.ts || reading.ts == device->told_ns)
			continue;
		device->told_ns = reading.ts;
		result = tell(counters, device, &reading);
		if (result < 0)
			return result;
		count += result;
	}
	return count;
}

static int drain(void *data, record_callback callback, void *callback_data)
{
	struct gpu_counters *counters = data;
	int count, told;

	counters->callback = callback;
	counters->callback_data = callback_data;
	count = counters->inner.drain(counters->inner.data, take_record, counters);
	if (count < 0)
		return count;
	told = tell_all(counters);
	return told < 0 ? told : count + told;
}

static int add_losses(void *data, struct batch *batch)
{
	const struct gpu_counters *counters = data;

	return counters->inner.add_losses(counters->inner.data, batch);
}

struct record_source gpu_counters_source(struct gpu_counters *counters)
{
	return (struct record_source){.data = counters, .drain = drain, .add_losses = add_losses};
}

void gpu_counters_set_window(struct gpu_counters *counters, u64 start_ns, u64 end_ns)
{
	if (!counters)
		return;
	pthread_mutex_lock(&counters->lock);
	counters->window_start_ns = start_ns;
	counters->window_end_ns = end_ns;
	pthread_mutex_unlock(&counters->lock);
}

/* ---- begin and end ---- */

int gpu_counters_start(const struct record_source *inner, struct gpu_counters **ret_counters)
{
	struct gpu_counters *counters = calloc(1, sizeof(*counters));
	pthread_condattr_t monotonic;
	int result;

	if (counters)
		*counters = (struct gpu_counters){
			.at_attach = calloc(NVML_DEVICES_MAX, sizeof(*counters->at_attach)),
			.users = calloc(NVML_DEVICES_MAX, sizeof(*counters->users)),
		};
	if (!counters || !counters->at_attach || !counters->users) {
		if (counters) {
			free(counters->at_attach);
			free(counters->users);
		}
		free(counters);
		return -ENOMEM;
	}
	counters->inner = *inner;
	pthread_mutex_init(&counters->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&counters->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	result = thread_start(&counters->thread, read_main, counters);
	if (result) {
		free(counters->at_attach);
		free(counters->users);
		free(counters);
		return result;
	}
	*ret_counters = counters;
	return 0;
}

struct gpu_counters *gpu_counters_free(struct gpu_counters *counters)
{
	bool ended;

	if (!counters)
		return NULL;
	pthread_mutex_lock(&counters->lock);
	counters->stopping = true;
	pthread_cond_broadcast(&counters->changed);
	ended = wait_for_flag(counters, &counters->ended, STOP_TIMEOUT_NS);
	pthread_mutex_unlock(&counters->lock);
	if (!ended) {
		log_debug("NVML does not answer: its thread is left alone");
		pthread_detach(counters->thread);
		return NULL;
	}
	pthread_join(counters->thread, NULL);
	pthread_mutex_destroy(&counters->lock);
	pthread_cond_destroy(&counters->changed);
	free(counters->devices);
	free(counters->at_attach);
	free(counters->users);
	free(counters);
	return NULL;
}
