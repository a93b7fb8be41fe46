/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's buffers. Calls write their records in their own thread, into a buffer of that thread's or a common
 * one; work on devices waits in a queue for the worker. Buffers go back when full, by the worker, or at a flush, by
 * the thread that flushes. No lock of ours is held while a completed buffer is handed over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "chosen.h"

#define MAX_SLOTS	 256
#define WORKER_PERIOD_MS 100
#define QUEUE_WAKE	 2048

struct slot {
	pthread_mutex_t lock;
	uint8_t *buffer;
	size_t size;
	size_t used;
	size_t records;
	size_t max_records;
};

struct full {
	struct full *next;
	uint8_t *buffer;
	size_t size;
	size_t used;
	uint64_t ready_ns;
	unsigned subscriber;
};

static struct sim_client clients[SIM_SUBSCRIBERS];
/* Of each subscriber so many. */
static struct slot slots[SIM_SUBSCRIBERS * MAX_SLOTS] = {
	[0 ... SIM_SUBSCRIBERS * MAX_SLOTS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};
static atomic_uint slot_count = 1; /* slot 0 is the common one */
static atomic_uint generation;
static __thread unsigned own_slot, own_generation;
static atomic_size_t dropped[SIM_SUBSCRIBERS];
static atomic_size_t appended;
static bool is_per_thread;
static bool is_zeroed_by_client;

static pthread_mutex_t full_lock = PTHREAD_MUTEX_INITIALIZER;
static struct full *full_first, **full_last = &full_first;
static pthread_mutex_t deliver_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static struct sim_activity *queue;
static size_t queue_count, queue_capacity;
static pthread_mutex_t drain_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_t worker;
static bool is_working;
static uintptr_t worker_number; /* of the one that works: one of another number ends */
static atomic_uint period_ms = WORKER_PERIOD_MS;

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static unsigned subscriber_of(const struct slot *slot)
{
	return (unsigned)(slot - slots) / MAX_SLOTS;
}

static bool ask_client(unsigned subscriber, struct slot *slot)
{
	const struct sim_client *client = &clients[subscriber];
	size_t info[1] = {sizeof(info)};

	if (client->requested_v2)
		client->requested_v2(&slot->buffer, &slot->size, &slot->max_records, info);
	else if (client->requested)
		client->requested(&slot->buffer, &slot->size, &slot->max_records);
	return client->requested_v2 || client->requested;
}

static void give_back(unsigned subscriber, uint8_t *buffer, size_t size, size_t used)
{
	const struct sim_client *client = &clients[subscriber];
	struct sim_complete_info info = {.size = sizeof(info)};

	info.layouts = sim_chosen_layouts(subscriber, &info.layout_count);
	if (client->completed_v2)
		client->completed_v2(buffer, size, used, &info);
	else if (client->completed)
		client->completed(NULL, 0, buffer, size, used);
}

/* The slot's lock is held. */
static void retire(struct slot *slot)
{
	struct full *full = calloc(1, sizeof(*full));

	full->subscriber = subscriber_of(slot);
	full->buffer = slot->buffer;
	full->size = slot->size;
	full->used = slot->used;
	full->ready_ns = monotonic_ns() + sim_cupti_knob("late_buffers_ms", 0) * 1000000;
	slot->buffer = NULL;
	pthread_mutex_lock(&full_lock);
	*full_last = full;
	full_last = &full->next;
	pthread_mutex_unlock(&full_lock);
}

/* It would be read as records. */
static void check_zeros(const uint8_t *buffer, size_t size)
{
	if (!size || (!buffer[0] && !memcmp(buffer, buffer + 1, size - 1)))
		return;
	fprintf(stderr, "simulated CUPTI: a buffer that should be zeroed, and is not\n");
	abort();
}

/* In whatever thread asked for it. The knob no_zeroing=1: the client should have done it. */
static void zero(uint8_t *buffer, size_t size)
{
	if (sim_cupti_knob("no_zeroing", 0)) {
		fprintf(stderr, "simulated CUPTI: it has to zero %zu bytes of a buffer itself\n",
			size);
		abort();
	}
	memset(buffer, 0, size);
}

/* The slot's lock is held. */
static bool request(unsigned subscriber, struct slot *slot)
{
	slot->buffer = NULL;
	slot->size = slot->used = slot->records = slot->max_records = 0;
	if (!ask_client(subscriber, slot))
		return false;
	if (!slot->buffer && sim_version()->code < 12090) {
		fprintf(stderr,
			"simulated CUPTI %s: no buffer was given: the real one may crash here\n",
			sim_cupti_release);
		abort();
	}
	if ((uintptr_t)slot->buffer % ACTIVITY_RECORD_ALIGNMENT) {
		fprintf(stderr, "simulated CUPTI: a buffer that is not aligned by 8\n");
		abort();
	}
	if (slot->buffer && is_zeroed_by_client)
		check_zeros(slot->buffer, slot->size);
	else if (slot->buffer)
		zero(slot->buffer, slot->size);
	return slot->buffer != NULL;
}

void sim_buffer_exchange(void)
{
	struct slot slot = {.buffer = NULL};

	if (request(0, &slot))
		give_back(0, slot.buffer, slot.size, 0);
}

static struct slot *find_slot(bool is_own)
{
	if (!is_own || !is_per_thread)
		return &slots[0];
	if (!own_slot || own_generation != generation) {
		own_slot = 1 + atomic_fetch_add(&slot_count, 1) % (MAX_SLOTS - 1);
		own_generation = generation;
	}
	return &slots[own_slot];
}

/* The knobs mute=1 and drop=N: nothing is recorded, one of N is dropped. */
static bool is_dropped(void)
{
	uint64_t every = sim_cupti_knob("drop", 0);

	if (!every || atomic_fetch_add(&appended, 1) % every)
		return false;
	return true;
}

static void append(unsigned subscriber, const void *record, size_t size, bool is_own)
{
	struct slot *slot = find_slot(is_own) + subscriber * MAX_SLOTS;
	uint8_t chosen[SIM_MAX_RECORD];

	if (sim_chosen_size(subscriber, ((const CUpti_Activity *)record)->kind)) {
		size = sim_chosen_make(subscriber, record, chosen);
		record = chosen;
	}
	if (is_dropped()) {
		atomic_fetch_add(&dropped[subscriber], 1);
		return;
	}
	pthread_mutex_lock(&slot->lock);
	if (slot->buffer && (slot->used + size > slot->size ||
			     (slot->max_records && slot->records == slot->max_records)))
		retire(slot);
	if (!slot->buffer)
		request(subscriber, slot);
	if (slot->buffer && slot->used + size <= slot->size) {
		memcpy(slot->buffer + slot->used, record, size);
		slot->used += size;
		slot->records++;
	} else {
		atomic_fetch_add(&dropped[subscriber], 1);
	}
	pthread_mutex_unlock(&slot->lock);
}

void sim_buffer_append(const void *record, size_t size, bool is_own, unsigned subscribers)
{
	if (sim_cupti_knob("mute", 0))
		return;
	for (unsigned i = 0; i < SIM_SUBSCRIBERS; i++)
		if (subscribers >> i & 1)
			append(i, record, size, is_own);
}

void sim_buffer_queue(const struct sim_activity *activity)
{
	pthread_mutex_lock(&queue_lock);
	if (queue_count == queue_capacity) {
		queue_capacity = queue_capacity ? 2 * queue_capacity : 4096;
		queue = realloc(queue, queue_capacity * sizeof(queue[0]));
	}
	queue[queue_count++] = *activity;
	if (queue_count == QUEUE_WAKE)
		pthread_cond_signal(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
}

static void drain_queue(void)
{
	struct sim_activity *taken;
	size_t count;

	pthread_mutex_lock(&drain_lock);
	pthread_mutex_lock(&queue_lock);
	taken = queue;
	count = queue_count;
	queue = NULL;
	queue_count = queue_capacity = 0;
	pthread_mutex_unlock(&queue_lock);
	for (size_t i = 0; i < count; i++)
		sim_record_activity(&taken[i]);
	free(taken);
	pthread_mutex_unlock(&drain_lock);
}

static void deliver(bool forced)
{
	struct full *full;

	pthread_mutex_lock(&deliver_lock);
	for (;;) {
		pthread_mutex_lock(&full_lock);
		full = full_first;
		if (full && (forced || full->ready_ns <= monotonic_ns())) {
			full_first = full->next;
			if (!full_first)
				full_last = &full_first;
		} else {
			full = NULL;
		}
		pthread_mutex_unlock(&full_lock);
		if (!full)
			break;
		give_back(full->subscriber, full->buffer, full->size, full->used);
		free(full);
	}
	pthread_mutex_unlock(&deliver_lock);
}

void sim_buffer_flush(bool forced)
{
	uint64_t start_ns = sim_clock_now();

	drain_queue();
	if (sim_state.kinds[CUPTI_ACTIVITY_KIND_OVERHEAD])
		sim_record_overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, start_ns,
				    sim_clock_now());
	for (unsigned i = 0; i < SIM_SUBSCRIBERS * MAX_SLOTS; i++) {
		pthread_mutex_lock(&slots[i].lock);
		if (slots[i].buffer)
			retire(&slots[i]);
		pthread_mutex_unlock(&slots[i].lock);
	}
	deliver(forced);
}

static void *worker_main(void *number)
{
	pthread_mutex_lock(&queue_lock);
	while (worker_number == (uintptr_t)number) {
		struct timespec deadline;
		unsigned wait_ms = period_ms;

		clock_gettime(CLOCK_REALTIME, &deadline);
		deadline.tv_sec += wait_ms / 1000;
		deadline.tv_nsec += (long)(wait_ms % 1000) * 1000000;
		if (deadline.tv_nsec >= 1000000000) {
			deadline.tv_nsec -= 1000000000;
			deadline.tv_sec++;
		}
		pthread_cond_timedwait(&queue_filled, &queue_lock, &deadline);
		if (worker_number != (uintptr_t)number)
			break;
		pthread_mutex_unlock(&queue_lock);
		drain_queue();
		sim_record_environment();
		deliver(false);
		pthread_mutex_lock(&queue_lock);
	}
	pthread_mutex_unlock(&queue_lock);
	return NULL;
}

void sim_buffer_start(void)
{
	pthread_mutex_lock(&queue_lock);
	if (!is_working) {
		/* As the real one's it has the name of who makes it. */
		is_working = !pthread_create(&worker, NULL, worker_main, (void *)++worker_number);
		sim_workers_start();
	}
	pthread_mutex_unlock(&queue_lock);
}

/* Another thread may start the next one meanwhile: waited for is that which was there. */
void sim_buffer_stop(void)
{
	pthread_t stopped;
	bool was_working;

	pthread_mutex_lock(&queue_lock);
	was_working = is_working;
	stopped = worker;
	worker_number++;
	is_working = false;
	pthread_cond_broadcast(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
	if (was_working)
		pthread_join(stopped, NULL);
	sim_workers_stop();
}

/* Buffers that are out are never given back, as after the real cuptiFinalize without a flush. */
void sim_buffer_reset(void)
{
	for (unsigned i = 0; i < SIM_SUBSCRIBERS * MAX_SLOTS; i++)
		slots[i].buffer = NULL;
	atomic_fetch_add(&generation, 1);
	slot_count = 1;
	memset(clients, 0, sizeof(clients));
	memset(dropped, 0, sizeof(dropped));
	period_ms = WORKER_PERIOD_MS;
	free(queue);
	queue = NULL;
	queue_count = queue_capacity = 0;
	is_zeroed_by_client = false;
	is_per_thread = sim_version()->code >= 13000;
}

__attribute__((constructor)) static void init(void)
{
	is_per_thread = sim_version()->code >= 13000;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request_function,
					   CUpti_BuffersCallbackCompleteFunc complete_function)
{
	struct sim_client client = {.requested = request_function, .completed = complete_function};
	CUptiResult result =
		sim_version()->code < 13020 ? sim_gate_free(__func__) : sim_gate_old(__func__);

	if (result)
		return result;
	if (!request_function || !complete_function)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return sim_buffer_register(0, &client);
}

CUptiResult sim_buffer_register(unsigned subscriber, const struct sim_client *client)
{
	clients[subscriber] = *client;
	return CUPTI_SUCCESS;
}

size_t sim_buffer_dropped(unsigned subscriber)
{
	return atomic_exchange(&dropped[subscriber], 0);
}

CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds)
{
	CUptiResult result = sim_gate(__func__);

	if (!result && sim_state.shared == SIM_SHARED_YES)
		result = CUPTI_ERROR_NOT_COMPATIBLE;
	if (!result)
		period_ms = milliseconds ? milliseconds : WORKER_PERIOD_MS;
	return result;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *count)
{
	CUptiResult result = sim_version()->code < 12050   ? sim_gate(__func__)
			     : sim_version()->code < 13030 ? sim_gate_free(__func__)
							   : sim_gate_old(__func__);

	if (!result)
		*count = sim_buffer_dropped(0);
	return result;
}

void sim_buffer_get_attribute(unsigned attribute, void *ret_value)
{
	bool value = attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER
			     ? is_per_thread
			     : is_zeroed_by_client;

	if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER ||
	    attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		*(uint8_t *)ret_value = value;
}

/* The attributes that matter here: 5 and 9. */
bool sim_buffer_set_attribute(unsigned attribute, bool value)
{
	if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		is_zeroed_by_client = value;
	else if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
		is_per_thread = value;
	else
		return false;
	return true;
}
