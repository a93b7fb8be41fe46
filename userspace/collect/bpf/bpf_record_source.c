/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/bpf_record_source.h"

#include "../bpf/shared.h"
#include "collect/recording_facts.h"

int bpf_record_source_add_losses(const struct bpf_drained *records, u64 open_count,
				 struct batch *batch)
{
	struct counters counters;
	int result = bpf_source_counters(records->source, &counters);

	if (result)
		return result;
	counters.losses[VALUE_loss_reason_missed] += bpf_source_missed(records->source);
	counters.losses[VALUE_loss_reason_task_event_missed] +=
		bpf_source_missed_task_events(records->source);
	counters.losses[VALUE_loss_reason_growth_missed] +=
		bpf_source_missed_growth(records->source);
	counters.losses[VALUE_loss_reason_still_open] += open_count;
	for (u32 reason = 0; reason < LOSS_REASONS_MAX && !result; reason++)
		result = recording_facts_loss(batch, RECORD_SOURCE_BPF, reason, records->place,
					      counters.losses[reason]);
	/* Where they are is how they end. */
	for (u32 end = 0; end < STACK_ENDS_MAX && !result; end++)
		result = recording_facts_loss(batch, RECORD_SOURCE_BPF, VALUE_loss_reason_stack_cut,
					      TEXT_STACK_END + end, counters.cut_stacks[end]);
	return result;
}

static int add_losses(void *data, struct batch *batch)
{
	return bpf_record_source_add_losses(data, 0, batch);
}

static void add_code(void *data, const struct python_code *code, size_t size_bytes)
{
	python_codes_add(data, code, size_bytes);
}

static int drain(void *data, record_callback callback, void *callback_data)
{
	const struct bpf_drained *records = data;

	if (records->python)
		bpf_source_take_python_codes(records->source, add_code, records->python);
	return bpf_source_drain(records->source, callback, callback_data);
}

struct record_source bpf_record_source(struct bpf_drained *records)
{
	return (struct record_source){.data = records, .drain = drain, .add_losses = add_losses};
}

void bpf_record_source_wait(void *data, int timeout_ms)
{
	const struct bpf_drained *records = data;

	bpf_source_wait(records->source, timeout_ms);
}
