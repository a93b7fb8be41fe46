/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/function_counts.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(((struct record_function_total *)0)->buckets) ==
		       sizeof(((struct function_count *)0)->buckets),
	       "the record has all buckets");

struct putting {
	struct function_counts *counts;
	u64 start_ns, dur_ns;
	struct batch *batch;
};

int function_counts_take_open(struct function_counts *counts, const struct record_call *call)
{
	u32 pid = call->header.pid, probe = call->probe;
	u64 *count;

	if (!probe || probe > counts->plan->function_count ||
	    !counts->plan->functions[probe - 1].counted)
		return 0;
	count = map_find(&counts->open, pid, probe);
	if (count)
		(*count)++;
	else if (map_set(&counts->open, pid, probe, 1) < 0)
		return -ENOMEM;
	return 1;
}

static int put_total(const struct putting *putting, const struct function_count_key *key,
		     const struct function_count *count)
{
	struct record_function_total total = {
		.header = {.size_bytes = sizeof(total),
			   .kind = KIND_function_total,
			   .source = RECORD_SOURCE_BPF,
			   .ts = putting->start_ns,
			   .dur = putting->dur_ns,
			   .pid = key->pid,
			   .name = key->probe},
		.probe = key->probe,
		.calls = count->calls,
		.timed_calls = count->timed_calls,
		.time_ns = count->timed_calls ? count->time_ns : ~0ULL,
		.minimum_ns = count->timed_calls ? count->minimum_ns : ~0ULL,
		.maximum_ns = count->timed_calls ? count->maximum_ns : ~0ULL,
	};

	memcpy(total.buckets, count->buckets, sizeof(total.buckets));
	return batch_add(putting->batch, &total.header);
}

static int put_counted(void *data, const struct function_count_key *key,
		       const struct function_count *count)
{
	const struct putting *putting = data;
	struct function_count sum = *count;
	u64 *open = map_find(&putting->counts->open, key->pid, key->probe);

	if (open) {
		sum.calls += *open;
		*open = 0;
	}
	return put_total(putting, key, &sum);
}

/* Of functions that nobody was seen to leave. */
static int put_open(const struct putting *putting)
{
	const struct map *open = &putting->counts->open;
	int result = 0;

	for (size_t i = 0; i < open->capacity && !result; i++) {
		const struct map_slot *slot = &open->slots[i];
		struct function_count_key key = {(u32)slot->key_a, (u32)slot->key_b};
		struct function_count count = {.calls = slot->value};

		if (slot->used && slot->value)
			result = put_total(putting, &key, &count);
	}
	return result;
}

int function_counts_put(struct function_counts *counts, const struct bpf_source *source,
			u64 start_ns, u64 dur_ns, struct batch *batch)
{
	struct putting putting = {counts, start_ns, dur_ns, batch};
	int result = bpf_source_function_counts(source, put_counted, &putting);

	return result ? result : put_open(&putting);
}
