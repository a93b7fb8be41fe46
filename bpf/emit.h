/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting, and sending records to the ring of this CPU. */
#ifndef GPUPROBE_BPF_EMIT_H
#define GPUPROBE_BPF_EMIT_H

#include "counts.h"
#include "maps.h"

#define RECORDS_BETWEEN_LOOKS 32 /* at how full the ring is: 2 KB */

/* NULL never happens (one entry, index 0), but the verifier wants it asked. */
static __always_inline struct counters *counters_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&counters, &zero);
}

static __always_inline void count_losses(u32 reason, u64 count)
{
	struct counters *mine = counters_get();

	if (mine && reason < LOSS_REASONS_MAX)
		__sync_fetch_and_add(&mine->losses[reason], count);
}

static __always_inline void count_loss(u32 reason)
{
	count_losses(reason, 1);
}

static __always_inline bool is_target(u32 tgid)
{
	return bpf_map_lookup_elem(&targets, &tgid) != NULL;
}

/* See own_threads.h. */
static __always_inline bool is_own_thread(u32 tid)
{
	return agents_are_about && bpf_map_lookup_elem(&own_threads, &tid) != NULL;
}

/* Of a target, and not ours. */
static __always_inline bool is_target_thread(u32 tgid, u32 tid)
{
	return is_target(tgid) && !is_own_thread(tid);
}

/*
 * A record never wakes the reader, which polls every few milliseconds: a wake-up is an
 * inter-processor interrupt, in a VM several times the price of the record. Only a ring that fills
 * up may, at most once a millisecond and CPU; asking
 * costs time too, so not every record does.
 */
static __always_inline u64 emit_flags(void *ring)
{
	struct counters *mine = counters_get();
	u64 now;

	if (!mine || mine->records++ % RECORDS_BETWEEN_LOOKS ||
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < ring_wakeup_bytes)
		return BPF_RB_NO_WAKEUP;
	now = bpf_ktime_get_ns();
	if (now - mine->wakeup_ns < 1000000)
		return BPF_RB_NO_WAKEUP;
	mine->wakeup_ns = now;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline void *ring_of_this_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id() % ring_count;

	return bpf_map_lookup_elem(&rings, &cpu);
}

/* The whole record is copied in from the stack, where the compiler has zeroed it: nothing of the
 * kernel's memory can leak through a field that was not set. False when the ring is full. */
static __always_inline bool try_emit(const struct record_header *record, u32 size_bytes)
{
	void *ring = ring_of_this_cpu();

	return ring && !bpf_ringbuf_output(ring, (void *)record, size_bytes, emit_flags(ring));
}

/* What the ring does not take is lost, and counted. */
static __always_inline void emit(const struct record_header *record, u32 size_bytes)
{
	if (!try_emit(record, size_bytes))
		count_loss(VALUE_loss_reason_ring_full);
}

/* At once, by a ring of its own. */
static __always_inline void tell_userspace(u32 kind, u32 pid, u32 thread)
{
	struct process_event event = {
		.kind = kind, .pid = pid, .thread = thread, .ts = bpf_ktime_get_ns()};

	bpf_ringbuf_output(&process_events, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
}

static __always_inline void tell_userspace_address(u32 kind, u32 pid, u64 address)
{
	struct process_event event = {
		.kind = kind, .pid = pid, .ts = bpf_ktime_get_ns(), .address = address};

	bpf_ringbuf_output(&process_events, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
}

static __always_inline void fill_header(struct record_header *header, u32 size_bytes, u32 kind,
					u64 ts, u64 dur, u64 pid_tgid, u32 name)
{
	header->size_bytes = size_bytes;
	header->kind = kind;
	header->source = RECORD_SOURCE_BPF;
	header->ts = ts;
	header->dur = dur;
	header->pid = pid_tgid >> 32;
	header->tid = (u32)pid_tgid;
	header->name = name; /* userspace gives the name of a probe the probe's id as text id */
	header->stack = 0;
}

/* NULL: it never was. */
static __always_inline const struct switched_probe *switched_probe_find(u32 probe)
{
	if (!any_switched_off)
		return NULL;
	probe &= PROBE_ID_MASK;
	return bpf_map_lookup_elem(&switched_off, &probe);
}

static __always_inline u64 switched_off_since(u32 probe)
{
	const struct switched_probe *found = switched_probe_find(probe);

	return found ? found->since_ns : 0;
}

static __always_inline bool is_switched_off(u32 probe)
{
	const struct switched_probe *found = switched_probe_find(probe);

	return found && found->is_off;
}

/* Did nobody see when a call with this end ended? */
static __always_inline bool end_is_late(u8 ended)
{
	return ended != VALUE_call_ended_returned && ended != VALUE_call_ended_replaced;
}

/* Are its calls only counted? */
static __always_inline bool is_counted(u32 probe)
{
	return counts_calls && probe & PROBE_COUNTED;
}

static __always_inline void count_call(u32 probe, u64 pid_tgid, u64 dur)
{
	if (!function_count_add(pid_tgid >> 32, probe, dur))
		count_loss(VALUE_loss_reason_counts_full);
}

static __always_inline void emit_call(const struct frame *frame, u64 pid_tgid, u64 end_ts, u8 ended)
{
	u64 since = end_is_late(ended) ? switched_off_since(frame->probe) : 0, dur;
	struct record_call call = {};

	/* What became of it since then nobody saw. */
	if (since > frame->ts) {
		end_ts = since;
		ended = VALUE_call_ended_switched_off;
	}
	dur = ended == VALUE_call_ended_open ? RECORD_DURATION_OPEN : end_ts - frame->ts;
	if (is_counted(frame->probe)) {
		count_call(frame->probe, pid_tgid,
			   ended == VALUE_call_ended_switched_off ? RECORD_DURATION_OPEN : dur);
		return;
	}
	fill_header(&call.header, sizeof(call), KIND_call, frame->ts, dur, pid_tgid, frame->probe);
	call.header.stack = frame->stack;
	call.probe = frame->probe;
	call.ended = ended;
	emit(&call.header, sizeof(call));
}

static __always_inline void emit_entry(u32 probe, u64 pid_tgid, u64 ts, u8 reason, u32 stack)
{
	struct record_entry entry = {};

	if (is_counted(probe)) {
		count_call(probe, pid_tgid, RECORD_DURATION_OPEN);
		return;
	}
	fill_header(&entry.header, sizeof(entry), KIND_entry, ts, 0, pid_tgid, probe);
	entry.header.stack = stack;
	entry.probe = probe;
	entry.reason = reason;
	emit(&entry.header, sizeof(entry));
}

/* The record that a struct element_request asks for. */
#define ANSWER(request, answer)                                                     \
	do {                                                                        \
		_Static_assert(sizeof(answer) <= sizeof((request)->record), "");    \
		__builtin_memcpy((request)->record, &(answer), sizeof(answer));     \
		(request)->answered = 1;                                            \
	} while (0)

#endif
