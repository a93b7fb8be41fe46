/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/heap_counts.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/schema.h"

#define READ_NS (20 * NS_PER_MILLISECOND)

/* ---- names ---- */

int heap_counts_put_names(const struct plan *plan, size_t first, struct batch *batch)
{
	static const struct {
		u32 id;
		const char *name;
	} counters[] = {
		{TEXT_HEAP_LIVE_BYTES, "Heap since attach (bytes)"},
		{TEXT_HEAP_LIVE_CALLS, "Heap since attach (allocations)"},
		{TEXT_HEAP_FOREIGN_FREE, "Heap: frees of memory from before the attach"},
	};
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counters) && !result; i++)
		result = batch_add_text(batch, RECORD_SOURCE_BPF, counters[i].id, counters[i].name,
					strlen(counters[i].name));
	for (size_t i = 0; i < plan->function_count && !result; i++) {
		const char *name = plan->functions[i].name;

		result = batch_add_text(batch, RECORD_SOURCE_BPF,
					TEXT_HEAP_FUNCTION + first + i + 1, name, strlen(name));
	}
	return result;
}

/* ---- what is live, over time ---- */

struct reading {
	struct heap_counts *counts;
	u64 now_ns;
	record_callback callback;
	void *callback_data;
	int record_count;
};

static int tell_level(struct reading *reading, struct map *told, u32 pid, u32 name, u64 value)
{
	struct record_level record = {
		.header = {.size_bytes = sizeof(record),
			   .kind = KIND_level,
			   .source = RECORD_SOURCE_BPF,
			   .ts = reading->now_ns,
			   .pid = pid,
			   .name = name},
		.value = value,
	};
	const u64 *last = map_find(told, pid, 0);
	int result;

	if (last && *last == value)
		return 0;
	if (map_set(told, pid, 0, value))
		return -ENOMEM;
	result = reading->callback(reading->callback_data, &record.header, sizeof(record));
	reading->record_count++;
	return result;
}

static int tell_process(void *data, u32 pid, const struct heap_process *process)
{
	struct reading *reading = data;
	struct heap_counts *counts = reading->counts;
	int result = tell_level(reading, &counts->live_bytes, pid, TEXT_HEAP_LIVE_BYTES,
				process->live_bytes);

	if (result >= 0)
		result = tell_level(reading, &counts->live_calls, pid, TEXT_HEAP_LIVE_CALLS,
				    process->live_calls);
	if (result >= 0 && process->foreign_frees)
		result = tell_level(reading, &counts->foreign_frees, pid, TEXT_HEAP_FOREIGN_FREE,
				    process->foreign_frees);
	return result;
}

void heap_counts_close(struct heap_counts *counts)
{
	atomic_store(&counts->window_closed, true);
}

static int drain(void *data, record_callback callback, void *callback_data)
{
	struct heap_counts *counts = data;
	struct reading reading = {
		.counts = counts, .callback = callback, .callback_data = callback_data};
	int result;

	/* Is it open, what time is it, is it closed: asked in this order that moment lies in the window. */
	if (!bpf_source_window_is_open(counts->source))
		return 0;
	reading.now_ns = clock_monotonic_ns();
	if (reading.now_ns - counts->read_ns < READ_NS || atomic_load(&counts->window_closed))
		return 0;
	counts->read_ns = reading.now_ns;
	result = bpf_source_heap_processes(counts->source, tell_process, &reading);
	return result < 0 ? result : reading.record_count;
}

/* They are among those of the BPF programs. */
static int add_losses(void *data, struct batch *batch)
{
	return 0;
}

struct record_source heap_counts_source(struct heap_counts *counts)
{
	return (struct record_source){.data = counts, .drain = drain, .add_losses = add_losses};
}

/* ---- sums ---- */

struct sums {
	struct batch *batch;
	u64 start_ns, duration_ns;
};

static struct record_header sum_header(const struct sums *sums, u16 kind, u16 size_bytes, u32 pid)
{
	return (struct record_header){.size_bytes = size_bytes,
				      .kind = kind,
				      .source = RECORD_SOURCE_BPF,
				      .ts = sums->start_ns,
				      .dur = sums->duration_ns,
				      .pid = pid};
}

static int put_process(void *data, u32 pid, const struct heap_process *process)
{
	const struct sums *sums = data;
	const struct record_heap record = {
		.header = sum_header(sums, KIND_heap, sizeof(record), pid),
		.calls = process->calls,
		.bytes = process->bytes,
		.failed_calls = process->failed_calls,
		.freed_calls = process->freed_calls,
		.freed_bytes = process->freed_bytes,
		.foreign_frees = process->foreign_frees,
		.live_calls = process->live_calls,
		.live_bytes = process->live_bytes,
		.peak_bytes = process->peak_bytes,
	};

	return batch_add(sums->batch, &record.header);
}

/* One that never allocated anything was only looked at. */
static int put_site(void *data, const struct heap_site *site, u64 oldest_ns)
{
	const struct sums *sums = data;
	struct record_heap_stack record = {
		.header = sum_header(sums, KIND_heap_stack, sizeof(record), site->pid),
		.calls = site->calls,
		.bytes = site->bytes,
		.live_calls = site->live_calls,
		.live_bytes = site->live_bytes,
		.peak_bytes = site->peak_bytes,
		.largest_bytes = site->largest_bytes,
		.failed_calls = site->failed_calls,
		.oldest = oldest_ns,
	};

	record.header.stack = site->stack;
	return site->calls || site->failed_calls ? batch_add(sums->batch, &record.header) : 0;
}

static int add_to_batch(void *data, const struct record_header *record, size_t size_bytes)
{
	return batch_add(data, record);
}

int heap_counts_put_sums(struct heap_counts *counts, u64 window_start_ns, u64 window_end_ns,
			 struct batch *batch)
{
	struct sums sums = {batch, window_start_ns, window_end_ns - window_start_ns};
	struct reading reading = {.counts = counts,
				  .now_ns = window_end_ns,
				  .callback = add_to_batch,
				  .callback_data = batch};
	int result = bpf_source_heap_processes(counts->source, tell_process, &reading);

	if (!result)
		result = bpf_source_heap_processes(counts->source, put_process, &sums);
	if (!result)
		result = bpf_source_heap_sites(counts->source, put_site, &sums);
	return result;
}

void heap_counts_free(struct heap_counts *counts)
{
	map_free(&counts->live_bytes);
	map_free(&counts->live_calls);
	map_free(&counts->foreign_frees);
}
