/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a thread, and ending the calls that are open in it. */
#ifndef GPUPROBE_BPF_THREADS_H
#define GPUPROBE_BPF_THREADS_H

#include "arch_x86_64.h"
#include "emit.h"

static __always_inline void emit_task_name(struct thread_state *state, u64 pid_tgid)
{
	struct record_task record = {};

	fill_header(&record.header, sizeof(record), KIND_task, bpf_ktime_get_ns(), 0, pid_tgid, 0);
	bpf_get_current_comm(record.comm, sizeof(record.comm));
	/* Sent only when the ring took it; else nothing is lost: the next call of the thread tries
	 * again. */
	state->named = try_emit(&record.header, sizeof(record));
}

/* Does the slot at sp hold the kernel's return trampoline? */
static __always_inline bool slot_is_hijacked(struct task_struct *task, u64 sp)
{
	u64 slot = 0, trampoline = arch_trampoline(task);

	return trampoline && !bpf_probe_read_user(&slot, sizeof(slot), (void *)sp) &&
	       slot == trampoline;
}

/* NULL for a thread that was never recorded. */
static __always_inline struct thread_state *thread_state_find(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

/* found: by thread_state_find(). NULL (counted by the caller) when the kernel has no memory for it
 * now. */
static __always_inline struct thread_state *thread_state_get(struct thread_state *found,
							     struct task_struct *task, u64 pid_tgid)
{
	struct thread_state *state = found;

	if (!state)
		state = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (state && !state->named)
		emit_task_name(state, pid_tgid);
	return state;
}

/* Ends frames from the innermost outwards; the context of the bpf_loop callbacks below. */
struct close_range {
	struct frames *frames;
	struct away_frames *away;
	u64 pid_tgid;
	u64 end_ts;
	u64 sp;
	u32 until_probe;
	u8 ended;
	bool slot_hijacked;
};

static long close_dead(u32 index, struct close_range *range)
{
	struct frame *top = frames_top(range->frames);

	if (!top || !frames_top_is_dead(range->frames, range->sp, range->slot_hijacked))
		return 1;
	emit_call(top, range->pid_tgid, range->end_ts, range->ended);
	frames_pop(range->frames);
	return 0;
}

static __always_inline void close_frame(struct frame *frame, const struct close_range *range)
{
	if (range->ended == VALUE_call_ended_open)
		count_loss(VALUE_loss_reason_still_open);
	emit_call(frame, range->pid_tgid, range->end_ts, range->ended);
}

static long close_any(u32 index, struct close_range *range)
{
	struct frame *top = frames_top(range->frames);

	if (!top)
		return 1;
	close_frame(top, range);
	frames_pop(range->frames);
	return 0;
}

static long close_any_away(u32 index, struct close_range *range)
{
	struct frame *frame = away_at(range->away, index);

	if (frame->sp)
		close_frame(frame, range);
	frame->sp = 0;
	return 0;
}

/* Frames that longjmp or an exception left, now that the thread is seen at sp. */
static __always_inline void close_dead_frames(struct thread_state *state, u64 pid_tgid, u64 sp,
					      bool slot_hijacked)
{
	struct close_range range = {.frames = &state->frames,
				    .pid_tgid = pid_tgid,
				    .sp = sp,
				    .ended = VALUE_call_ended_unwound,
				    .slot_hijacked = slot_hijacked};

	if (!frames_top_is_dead(&state->frames, sp, slot_hijacked))
		return;
	range.end_ts = bpf_ktime_get_ns();
	bpf_loop(FRAMES_MAX, close_dead, &range, 0);
}

static __always_inline void close_all_frames(struct thread_state *state, u64 pid_tgid, u8 ended)
{
	struct close_range range = {.frames = &state->frames,
				    .away = &state->away,
				    .pid_tgid = pid_tgid,
				    .end_ts = bpf_ktime_get_ns(),
				    .ended = ended};

	bpf_loop(FRAMES_MAX, close_any, &range, 0);
	if (!state->away.count)
		return;
	bpf_loop(AWAY_FRAMES_MAX, close_any_away, &range, 0);
	state->away.count = 0;
}

#endif
