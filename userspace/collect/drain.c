/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/drain.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"

#define POLL_MS		 3
#define HAND_OVER_NS	 (100 * NS_PER_MILLISECOND)
#define BATCH_FULL_BYTES (4 << 20)
#define BUSY_RECORDS	 8192 /* a round that took more goes on at once */

struct drain {
	pthread_t thread;
	struct drain_config config;
	struct batch *batch;   /* being filled */
	u64 handed_over_count; /* events; the thread's own */
	atomic_ullong event_count;
	u64 unstored_count; /* the thread's until it is joined */
	atomic_bool stop;
};

static int take_record(void *data, const struct record_header *record, size_t size_bytes)
{
	struct drain *drain = data;

	/* Only our own programs write these rings; still nothing is believed that is not checked.
	 */
	if (size_bytes < sizeof(*record) || record->size_bytes != size_bytes)
		return 0;
	if (batch_add(drain->batch, record)) {
		drain->unstored_count++;
		return -ENOMEM;
	}
	return batch_size_bytes(drain->batch) >= BATCH_FULL_BYTES ? -ENOBUFS : 0;
}

/* What userspace knows of the records that are in the batch. */
static void complete_batch(struct drain *drain)
{
	if (drain->config.system_calls)
		system_calls_put(drain->config.system_calls, drain->batch);
	if (drain->config.kernels)
		kernel_texts_add_batch(drain->config.kernels, drain->batch);
	if (drain->config.stacks)
		stack_addresses_add_batch(drain->config.stacks, drain->batch);
}

static void hand_over(struct drain *drain)
{
	complete_batch(drain);
	drain->handed_over_count += batch_event_count(drain->batch);
	for (size_t i = 0; i < drain->config.source_count; i++)
		drain->config.sources[i].add_losses(drain->config.sources[i].data, drain->batch);
	batch_queue_put_full(drain->config.queue, drain->batch);
	drain->batch = batch_queue_take_empty(drain->config.queue);
}

/* One round over all sources: the number of records, or why it ended early. */
static int drain_round(struct drain *drain)
{
	int count = 0;

	for (size_t i = 0; i < drain->config.source_count; i++) {
		const struct record_source *source = &drain->config.sources[i];
		int taken = source->drain(source->data, take_record, drain);

		if (taken < 0)
			return taken;
		count += taken;
	}
	return count;
}

static void *drain_main(void *data)
{
	struct drain *drain = data;
	u64 handed_over_ns = clock_monotonic_ns();
	bool last_round = false;

	for (;;) {
		int taken = drain_round(drain);
		u64 now = clock_monotonic_ns();

		atomic_store_explicit(&drain->event_count,
				      drain->handed_over_count + batch_event_count(drain->batch),
				      memory_order_relaxed);
		if (taken < 0 ||
		    (batch_size_bytes(drain->batch) && now - handed_over_ns >= HAND_OVER_NS)) {
			hand_over(drain);
			handed_over_ns = now;
		}
		if (last_round && taken == 0)
			break;
		/* What was sent before the stop is in the rings by now: one empty round after it.
		 */
		last_round = atomic_load(&drain->stop);
		if (taken >= 0 && taken < BUSY_RECORDS && !last_round)
			drain->config.wait(drain->config.wait_data, POLL_MS);
	}
	complete_batch(drain);
	batch_queue_put_full(drain->config.queue, drain->batch);
	return NULL;
}

int drain_start(const struct drain_config *config, struct drain **ret_drain, struct err *err)
{
	struct drain *drain = calloc(1, sizeof(*drain));
	int result;

	if (!drain)
		return err_errno(err, -ENOMEM, "can't start draining the rings");
	drain->config = *config;
	drain->batch = batch_queue_take_empty(config->queue);
	result = -pthread_create(&drain->thread, NULL, drain_main, drain);
	if (result) {
		batch_queue_put_empty(config->queue, drain->batch);
		free(drain);
		return err_errno(err, result, "can't start the thread that drains the rings");
	}
	*ret_drain = drain;
	return 0;
}

u64 drain_event_count(const struct drain *drain)
{
	return atomic_load_explicit(&drain->event_count, memory_order_relaxed);
}

struct drain *drain_finish(struct drain *drain, u64 *ret_event_count, u64 *ret_unstored_count)
{
	if (!drain)
		return NULL;
	atomic_store(&drain->stop, true);
	pthread_join(drain->thread, NULL);
	if (ret_event_count)
		*ret_event_count = drain_event_count(drain);
	if (ret_unstored_count)
		*ret_unstored_count = drain->unstored_count;
	free(drain);
	return NULL;
}
