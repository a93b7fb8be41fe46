/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was asked of the driver, counted where it is asked: by kernel, kind of copy, function of the API. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"

#define MAX_KERNELS  512
#define MAX_SITES    1024
#define COPY_KINDS   11
#define SYNC_KINDS   5
#define MEMORY_KINDS 8
#define MAX_STREAMS  256

struct kernel_count {
	const char *name;
	uint64_t launches;
	uint64_t in_graphs;
	uint64_t device_ns;
};

struct site_count {
	const struct sim_site *site;
	uint64_t calls;
};

struct stream_count {
	uint32_t id;
	uint64_t works;
};

struct truth {
	uint64_t since_ns;
	struct kernel_count kernels[MAX_KERNELS];
	struct site_count sites[MAX_SITES];
	struct stream_count streams[MAX_STREAMS];
	uint64_t copies[COPY_KINDS], copy_bytes[COPY_KINDS];
	uint64_t sets, set_bytes;
	uint64_t graph_launches;
	uint64_t syncs[SYNC_KINDS];
	uint64_t event_records;
	uint64_t allocations[MEMORY_KINDS], allocated_bytes[MEMORY_KINDS];
	uint64_t releases[MEMORY_KINDS], released_bytes[MEMORY_KINDS];
	uint64_t outermost_calls;
	bool overflowed;
};

static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;
static struct truth truth;
static uint64_t memory_live[SIM_MAX_DEVICES], memory_peak[SIM_MAX_DEVICES];

static const char *const copy_names[COPY_KINDS] = {
	[1] = "HtoD", [2] = "DtoH", [8] = "DtoD", [9] = "HtoH", [10] = "PtoP",
};
static const char *const sync_names[SYNC_KINDS] = {
	[SIM_SYNC_EVENT] = "event",
	[SIM_SYNC_WAIT_EVENT] = "wait_event",
	[SIM_SYNC_STREAM] = "stream",
	[SIM_SYNC_CONTEXT] = "context",
};
static const char *const memory_names[MEMORY_KINDS] = {
	[2] = "pinned",
	[3] = "device",
	[5] = "managed",
};

void sim_truth_call(const struct sim_site *site, bool is_outermost)
{
	size_t slot = site->cbid * 2 + site->domain;

	pthread_mutex_lock(&truth_lock);
	truth.outermost_calls += is_outermost;
	for (size_t i = 0; i < MAX_SITES; i++) {
		struct site_count *count = &truth.sites[(slot + i) % MAX_SITES];

		if (!count->site)
			count->site = site;
		if (count->site == site) {
			count->calls++;
			break;
		}
	}
	pthread_mutex_unlock(&truth_lock);
}

static void count_kernel(const struct sim_activity *activity)
{
	size_t slot = (uintptr_t)activity->kernel.name / 16;

	for (size_t i = 0; i < MAX_KERNELS; i++) {
		struct kernel_count *count = &truth.kernels[(slot + i) % MAX_KERNELS];

		if (!count->name)
			count->name = activity->kernel.name;
		if (count->name == activity->kernel.name) {
			count->launches++;
			count->in_graphs += activity->graph_id != 0;
			count->device_ns += activity->end_ns - activity->start_ns;
			return;
		}
	}
	truth.overflowed = true;
}

static void count_stream(uint32_t id)
{
	for (size_t i = 0; i < MAX_STREAMS; i++) {
		struct stream_count *count = &truth.streams[(id + i) % MAX_STREAMS];

		if (!count->works)
			count->id = id;
		if (count->id == id) {
			count->works++;
			return;
		}
	}
	truth.overflowed = true;
}

static void count_memory(const struct sim_activity *activity)
{
	uint8_t kind = activity->memory.memory_kind % MEMORY_KINDS;

	if (activity->memory.is_release) {
		truth.releases[kind]++;
		truth.released_bytes[kind] += activity->memory.bytes;
	} else {
		truth.allocations[kind]++;
		truth.allocated_bytes[kind] += activity->memory.bytes;
	}
}

void sim_truth_activity(const struct sim_activity *activity)
{
	pthread_mutex_lock(&truth_lock);
	switch (activity->kind) {
	case SIM_KERNEL:
		count_kernel(activity);
		break;
	case SIM_MEMCPY:
		truth.copies[activity->memcpy.copy_kind % COPY_KINDS]++;
		truth.copy_bytes[activity->memcpy.copy_kind % COPY_KINDS] += activity->memcpy.bytes;
		break;
	case SIM_MEMSET:
		truth.sets++;
		truth.set_bytes += activity->memset.bytes;
		break;
	case SIM_GRAPH:
		truth.graph_launches++;
		break;
	case SIM_SYNC:
		truth.syncs[activity->sync.type % SYNC_KINDS]++;
		break;
	case SIM_EVENT:
		truth.event_records++;
		break;
	case SIM_MEMORY:
		count_memory(activity);
		break;
	default:
		break;
	}
	if (activity->kind == SIM_KERNEL || activity->kind == SIM_MEMCPY ||
	    activity->kind == SIM_MEMSET)
		count_stream(activity->stream_id);
	pthread_mutex_unlock(&truth_lock);
}

/* One a piece of work, in the file that the knob work_log names. */
struct work_log_entry {
	uint32_t device, kind;
	uint64_t start_ns, end_ns;
};

void sim_truth_done(const struct sim_activity *activity)
{
	static FILE *log;
	static bool opened;
	const struct work_log_entry entry = {.device = activity->device,
					     .kind = activity->kind,
					     .start_ns = activity->start_ns,
					     .end_ns = activity->end_ns};

	if (activity->kind != SIM_KERNEL && activity->kind != SIM_MEMCPY &&
	    activity->kind != SIM_MEMSET)
		return;
	pthread_mutex_lock(&truth_lock);
	if (!opened) {
		const char *path = sim_knob_text("work_log");

		log = path ? fopen(path, "we") : NULL;
		opened = true;
	}
	if (log)
		fwrite(&entry, sizeof(entry), 1, log);
	pthread_mutex_unlock(&truth_lock);
}

void sim_truth_memory(int device, uint64_t live_bytes, uint64_t peak_bytes)
{
	pthread_mutex_lock(&truth_lock);
	memory_live[device] = live_bytes;
	memory_peak[device] = peak_bytes;
	pthread_mutex_unlock(&truth_lock);
}

void simTruthMark(void)
{
	pthread_mutex_lock(&truth_lock);
	memset(&truth, 0, sizeof(truth));
	truth.since_ns = sim_now_ns();
	pthread_mutex_unlock(&truth_lock);
}

struct text {
	char *start;
	size_t capacity;
	size_t length;
	bool needs_comma;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
	size_t left = text->length < text->capacity ? text->capacity - text->length : 0;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(left ? text->start + text->length : NULL, left, format, arguments);
	va_end(arguments);
	text->length += (size_t)length;
}

/* "name": of an object's member. Names are symbols: nothing in them to escape. */
static void key(struct text *text, const char *name)
{
	put(text, "%s\"%s\":", text->needs_comma ? "," : "", name);
	text->needs_comma = true;
}

static void object(struct text *text, const char *name)
{
	key(text, name);
	put(text, "{");
	text->needs_comma = false;
}

static void end(struct text *text)
{
	put(text, "}");
	text->needs_comma = true;
}

static void number(struct text *text, const char *name, uint64_t value)
{
	key(text, name);
	put(text, "%llu", (unsigned long long)value);
}

static void put_counts(struct text *text, const char *name, const char *const names[],
		       const uint64_t counts[], const uint64_t bytes[], size_t size)
{
	object(text, name);
	for (size_t i = 0; i < size; i++) {
		if (!names[i] || !counts[i])
			continue;
		if (!bytes) {
			number(text, names[i], counts[i]);
			continue;
		}
		object(text, names[i]);
		number(text, "count", counts[i]);
		number(text, "bytes", bytes[i]);
		end(text);
	}
	end(text);
}

static void put_kernels(struct text *text)
{
	object(text, "kernels");
	for (size_t i = 0; i < MAX_KERNELS; i++) {
		const struct kernel_count *count = &truth.kernels[i];

		if (!count->name)
			continue;
		object(text, count->name);
		number(text, "count", count->launches);
		number(text, "in_graphs", count->in_graphs);
		number(text, "device_ns", count->device_ns);
		end(text);
	}
	end(text);
}

static void put_calls(struct text *text)
{
	static const char *const domains[] = {
		[SIM_DOMAIN_DRIVER] = "driver", [SIM_DOMAIN_RUNTIME] = "runtime"};

	object(text, "api");
	for (uint32_t domain = SIM_DOMAIN_DRIVER; domain <= SIM_DOMAIN_RUNTIME; domain++) {
		object(text, domains[domain]);
		for (size_t i = 0; i < MAX_SITES; i++)
			if (truth.sites[i].site && truth.sites[i].site->domain == domain)
				number(text, truth.sites[i].site->name, truth.sites[i].calls);
		end(text);
	}
	end(text);
}

static void put_memory(struct text *text)
{
	char name[16];

	object(text, "device_memory");
	for (int i = 0; i < sim_device_count; i++) {
		snprintf(name, sizeof(name), "%d", i);
		object(text, name);
		number(text, "live_bytes", memory_live[i]);
		number(text, "peak_bytes", memory_peak[i]);
		end(text);
	}
	end(text);
	put_counts(text, "allocations", memory_names, truth.allocations, truth.allocated_bytes,
		   MEMORY_KINDS);
	put_counts(text, "releases", memory_names, truth.releases, truth.released_bytes,
		   MEMORY_KINDS);
}

static void put_streams(struct text *text)
{
	char name[16];

	object(text, "streams");
	for (size_t i = 0; i < MAX_STREAMS; i++) {
		if (!truth.streams[i].works)
			continue;
		snprintf(name, sizeof(name), "%u", truth.streams[i].id);
		number(text, name, truth.streams[i].works);
	}
	end(text);
}

size_t simTruth(char *json, size_t capacity)
{
	struct text text = {.start = json, .capacity = capacity};

	pthread_mutex_lock(&truth_lock);
	put(&text, "{\"simulated\":true");
	text.needs_comma = true;
	number(&text, "since_ns", truth.since_ns);
	number(&text, "until_ns", sim_now_ns());
	put_kernels(&text);
	put_counts(&text, "copies", copy_names, truth.copies, truth.copy_bytes, COPY_KINDS);
	object(&text, "sets");
	number(&text, "count", truth.sets);
	number(&text, "bytes", truth.set_bytes);
	end(&text);
	number(&text, "graph_launches", truth.graph_launches);
	put_counts(&text, "syncs", sync_names, truth.syncs, NULL, SYNC_KINDS);
	number(&text, "event_records", truth.event_records);
	put_memory(&text);
	put_streams(&text);
	put_calls(&text);
	number(&text, "outermost_calls", truth.outermost_calls);
	number(&text, "overflowed", truth.overflowed);
	put(&text, "}");
	pthread_mutex_unlock(&truth_lock);
	return text.length;
}
