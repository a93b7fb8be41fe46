/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_states.h"

#include <errno.h>

#define NO_CPU UINT32_MAX

static int write_state(struct perfetto_packets *packets, u64 ts, u32 cpu, u32 tid, unsigned state,
		       struct err *err)
{
	protobuf_number(&packets->body, TASK_CPU, cpu);
	protobuf_number(&packets->body, TASK_TID, tid);
	protobuf_number(&packets->body, TASK_STATE, state);
	return perfetto_packet_write(packets, ts, PACKET_TASK_STATE, err);
}

/* Who woke it: of the packets that state this only those of ftrace name a waker. */
static int write_waking(struct perfetto_packets *packets, u64 ts, u32 cpu, u32 tid, u32 waker_tid,
			struct err *err)
{
	struct text *body = &packets->body;
	size_t event, waking;

	protobuf_number(body, FTRACE_CPU, cpu);
	event = protobuf_begin(body, FTRACE_EVENT);
	protobuf_number(body, FTRACE_TIMESTAMP, ts);
	protobuf_number(body, FTRACE_TID, waker_tid);
	waking = protobuf_begin(body, FTRACE_WAKING);
	protobuf_number(body, WAKING_TID, tid);
	protobuf_number(body, WAKING_TARGET_CPU, cpu);
	protobuf_end(body, waking);
	protobuf_end(body, event);
	return perfetto_packet_write_timeless(packets, PACKET_FTRACE, err);
}

static int write_begin(struct perfetto_states *states, struct perfetto_packets *packets,
		       const struct view_event *event, struct err *err)
{
	static const unsigned of_reason[] = {
		[VALUE_off_cpu_reason_sleeping] = TASK_SLEEPING,
		[VALUE_off_cpu_reason_uninterruptible] = TASK_UNINTERRUPTIBLE,
		[VALUE_off_cpu_reason_preempted] = TASK_RUNNABLE,
		[VALUE_off_cpu_reason_stopped] = TASK_STOPPED,
	};
	const struct record_off_cpu *wait = (const void *)event->record;
	u64 *ran = map_find(&states->cpus, event->record->tid, 0);
	u32 cpu = wait->from_cpu;

	/* It ran on that one until it was taken to another, which is not recorded. */
	if (ran && *ran)
		cpu = (u32)(*ran - 1);
	if (ran)
		*ran = 0;
	return write_state(packets, event->ts, cpu, event->record->tid,
			   wait->reason < ARRAY_SIZE(of_reason) && of_reason[wait->reason]
				   ? of_reason[wait->reason]
				   : TASK_SLEEPING,
			   err);
}

/* A nanosecond inside of the wait at least: states of one moment might change their places. */
static int write_ready(struct perfetto_packets *packets, const struct view_event *event,
		       struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	u64 ready = wait->runnable_ns ?: 1;

	if (wait->runnable_ns == ~0ULL || wait->reason == VALUE_off_cpu_reason_preempted ||
	    event->dur < 2)
		return 0;
	if (ready >= event->dur)
		ready = event->dur - 1;
	ready = event->ts + event->dur - ready;
	if (wait->woken_by == VALUE_woken_by_thread && wait->waker_tid)
		return write_waking(packets, ready, wait->to_cpu, event->record->tid,
				    wait->waker_tid, err);
	return write_state(packets, ready, wait->to_cpu, event->record->tid, TASK_RUNNABLE, err);
}

static int write_running(struct perfetto_states *states, struct perfetto_packets *packets,
			 const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;

	if (map_set(&states->cpus, event->record->tid, 0, (u64)wait->to_cpu + 1) < 0)
		return err_errno(err, -ENOMEM, "can't write %s", packets->writer.path);
	return write_state(packets, event->ts + event->dur, wait->to_cpu, event->record->tid,
			   TASK_RUNNING, err);
}

int perfetto_states_write(struct perfetto_states *states, struct perfetto_packets *packets,
			  const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	int result;

	if (event->kind->number != KIND_off_cpu || !event->record->tid || wait->from_cpu == NO_CPU)
		return 0;
	result = write_begin(states, packets, event, err);
	/* What comes after a wait whose end was not seen is not known. */
	if (result || event->open || wait->ended || wait->to_cpu == NO_CPU)
		return result;
	result = write_ready(packets, event, err);
	return result ? result : write_running(states, packets, event, err);
}

void perfetto_states_free(struct perfetto_states *states)
{
	map_free(&states->cpus);
}
