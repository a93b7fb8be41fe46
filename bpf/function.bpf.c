/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Function probes by the return address. Three programs, by how they are attached:
 * - function_session: uprobe session (6.13), entry and return of one call, chosen call by call.
 * - function_entry: uprobe_multi, entries only.
 * - function_session_emulated, function_entry_emulated: the same, for kernels where a program may set registers
 *   (6.19): they do themselves what the instruction does where that is described, which is cheaper.
 * - function_entry_single: one perf event a function, where the kernel has no uprobe_multi; entries
 *   only.
 */
#include "emit.h"
#include "allocation.h"
#include "hits.h"
#include "home_stack.h"
#include "matmul_emit.h"
#define PREEMPTION_FLAVOUR return_address
#include "preemption.h"
#include "session_return.h"
#define SPAN_SCRATCH call_scratch
#include "span_stacks.h"
#include "threads.h"

/* The result of a session's entry: 0 lets the kernel hijack the return address, 1 leaves it alone.
 */
#define TAKE_RETURN  0
#define LEAVE_RETURN 1

/* An entry whose return is not taken. */
static __always_inline int entry_only(struct pt_regs *registers, u64 cookie, u64 pid_tgid,
				      u32 reason, u32 loss_reason)
{
	u32 stack = entry_stack(registers, cookie, pid_tgid);
	u64 ts = bpf_ktime_get_ns();

	count_loss(loss_reason);
	emit_entry(cookie & COOKIE_PROBE_MASK, pid_tgid, ts, reason, stack);
	allocation_unseen(cookie, pid_tgid >> 32);
	if (is_matmul(cookie))
		matmul_emit(registers, cookie & PROBE_ID_MASK, arch_entry_sp(registers), ts);
	return LEAVE_RETURN;
}

/* A trampoline was judged safe by what the target mapped then: a library that it opened since may throw through
 * the frame or switch its stack, until userspace has looked at it. Frames that are open already are outside of whatever that library catches. */
static __always_inline bool has_mapped_code(u32 tgid)
{
	u32 mapped = code_mapped, *changes, *judged;

	if (mapped != CODE_MAPPED_BY_SOME)
		return mapped != CODE_MAPPED_BY_NONE;
	changes = bpf_map_lookup_elem(&changed_targets, &tgid);
	if (!changes)
		return false;
	judged = bpf_map_lookup_elem(&judged_targets, &tgid);
	return !judged || *judged != *changes;
}

/* Ends the frames at one sp from the innermost to that of until_probe. */
static long close_until_probe(u32 index, struct close_range *range)
{
	struct frame *top = frames_top(range->frames);
	bool last;

	if (!top || top->sp != range->sp)
		return 1;
	last = top->probe == range->until_probe;
	emit_call(top, range->pid_tgid, range->end_ts, range->ended);
	frames_pop(range->frames);
	if (!last)
		range->frames->ghosts++;
	return last;
}

/* A function open at this sp jumped to its own start: what was open there ends, and the one return
 * that is hijacked already will end the new call. */
static __always_inline void replace_call(struct thread_state *state, u64 pid_tgid, u64 sp,
					 u32 probe, u32 stack)
{
	struct close_range range = {.frames = &state->frames,
				    .pid_tgid = pid_tgid,
				    .end_ts = bpf_ktime_get_ns(),
				    .ended = VALUE_call_ended_replaced,
				    .until_probe = probe,
				    .sp = sp};

	bpf_loop(FRAMES_MAX, close_until_probe, &range, 0);
	frames_push(&state->frames, sp, range.end_ts, probe, stack);
}

static __always_inline int session_entry(struct pt_regs *registers, u64 cookie)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = thread_state_find(task);
	u64 pid_tgid = task_pid_tgid(task), sp = arch_entry_sp(registers);
	u32 probe = cookie & COOKIE_PROBE_MASK, reason, stack;
	struct frame *top;
	u64 ts;

	if (!entry_begins(registers, cookie, state, task->tgid))
		return LEAVE_RETURN;
	state = thread_state_get(state, task, pid_tgid);
	if (!state)
		return entry_only(registers, cookie, pid_tgid, VALUE_entry_only_reason_no_storage,
				  VALUE_loss_reason_no_storage);
	reason = home_stack_check(state, task, sp);
	if (reason == VALUE_entry_only_reason_off_home_stack)
		return entry_only(registers, cookie, pid_tgid, reason,
				  VALUE_loss_reason_off_home_stack);
	if (reason)
		return entry_only(registers, cookie, pid_tgid, reason,
				  VALUE_loss_reason_stack_unknown);
	top = frames_top(&state->frames);
	if (top && top->sp <= sp) {
		bool hijacked = slot_is_hijacked(task, sp);

		close_dead_frames(state, pid_tgid, sp, hijacked);
		if (hijacked && frames_is_open_at(&state->frames, sp, probe)) {
			replace_call(state, pid_tgid, sp, probe,
				     entry_stack(registers, cookie, pid_tgid));
			if (is_allocator(cookie))
				allocation_begin(registers, probe & PROBE_ID_MASK, sp);
			return LEAVE_RETURN;
		}
	}
	if (letting_go)
		return entry_only(registers, cookie, pid_tgid, VALUE_entry_only_reason_letting_go,
				  VALUE_loss_reason_letting_go);
	if (has_mapped_code(task->tgid))
		return entry_only(registers, cookie, pid_tgid, VALUE_entry_only_reason_code_mapped,
				  VALUE_loss_reason_code_mapped);
	if (state->frames.depth >= FRAMES_MAX)
		return entry_only(registers, cookie, pid_tgid, VALUE_entry_only_reason_too_deep,
				  VALUE_loss_reason_too_deep);
	if (is_allocator(cookie))
		allocation_begin(registers, probe & PROBE_ID_MASK, sp);
	stack = entry_stack(registers, cookie, pid_tgid);
	/* The clock is read last: what we spent so far is not part of the call. */
	ts = bpf_ktime_get_ns();
	frames_push(&state->frames, sp, ts, probe, stack);
	if (is_matmul(cookie))
		matmul_emit(registers, probe, sp, ts);
	return TAKE_RETURN;
}

/* Calls in the same slot whose probes are switched off: their returns come to nobody. */
static long close_abandoned(u32 index, struct close_range *range)
{
	struct frame *top = frames_top(range->frames);

	if (!top || top->sp != range->sp || top->probe == range->until_probe ||
	    switched_off_since(top->probe) <= top->ts)
		return 1;
	emit_call(top, range->pid_tgid, range->end_ts, range->ended);
	frames_pop(range->frames);
	return 0;
}

static __always_inline void close_abandoned_frames(struct thread_state *state, u64 pid_tgid, u64 sp,
						   u32 probe, u64 end_ts)
{
	struct close_range range = {.frames = &state->frames,
				    .pid_tgid = pid_tgid,
				    .end_ts = end_ts,
				    .ended = VALUE_call_ended_unwound,
				    .until_probe = probe,
				    .sp = sp};

	if (any_switched_off)
		bpf_loop(FRAMES_MAX, close_abandoned, &range, 0);
}

struct return_query {
	struct frames *frames;
	u64 sp;
	u64 ret_sp;
	u32 probe;
};

static long search_return(u32 step, struct return_query *query)
{
	return !frames_search_return(query->frames, step, query->sp, query->probe, &query->ret_sp);
}

/* The sp at the entry of the call of probe that returns now. */
static __always_inline u64 find_entry_sp(struct frames *frames, u64 sp, u32 probe)
{
	struct return_query query = {.frames = frames, .sp = sp, .ret_sp = sp, .probe = probe};
	struct frame *top = frames_top(frames);

	if (!top || top->sp >= sp)
		return sp;
	bpf_loop(FRAMES_MAX, search_return, &query, 0);
	return query.ret_sp;
}

/* Pairs the return with the frame of the same sp and probe. */
static __always_inline void session_return(struct pt_regs *registers, u64 cookie)
{
	u64 end_ts = bpf_ktime_get_ns(), sp = arch_entry_sp_at_return(registers);
	struct task_struct *task = bpf_get_current_task_btf();
	u64 pid_tgid = task_pid_tgid(task);
	u32 probe = cookie & COOKIE_PROBE_MASK;
	struct counters *mine = counters_get();
	struct probe_hits *hits = probe_hits_of(cookie);
	struct thread_state *state;
	struct frame *top;

	/* After the window nothing changes any more: what is open then is written as open. */
	if (!window_open)
		return;
	state = thread_state_find(task);
	if (!state || !mine || !hits)
		return;
	hits->exits++;
	sp = find_entry_sp(&state->frames, sp, probe);
	if (is_allocator(cookie))
		allocation_end(registers, probe & PROBE_ID_MASK, sp);
	close_dead_frames(state, pid_tgid, sp, true);
	close_abandoned_frames(state, pid_tgid, sp, probe, end_ts);
	top = frames_top(&state->frames);
	if (top && top->sp == sp && top->probe == probe) {
		emit_call(top, pid_tgid, end_ts, VALUE_call_ended_returned);
		frames_pop(&state->frames);
	} else if (state->frames.ghosts) {
		state->frames.ghosts--;
	} else {
		mine->losses[VALUE_loss_reason_unmatched_return]++;
	}
}

static __noinline int session_hit(struct pt_regs *registers)
{
	u64 cookie = bpf_get_attach_cookie(registers);

	if (!session_is_return(registers))
		return session_entry(registers, cookie);
	session_return(registers, cookie);
	return 0;
}

static __always_inline int session(struct pt_regs *registers)
{
	int result;

	preemption_off();
	result = session_hit(registers);
	preemption_on();
	return result;
}

SEC("uprobe.multi")
int function_session(struct pt_regs *registers)
{
	return session(registers);
}

/* At the return ip is the trampoline's, or wherever the function returns to. */
SEC("uprobe.multi")
int function_session_emulated(struct pt_regs *registers)
{
	int result;

	preemption_off();
	result = session_hit(registers);
	if (!session_is_return(registers))
		entry_displace(registers);
	preemption_on();
	return result;
}

static __noinline int entry_hit(struct pt_regs *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = thread_state_find(task);
	u64 cookie = bpf_get_attach_cookie(registers), pid_tgid = task_pid_tgid(task), ts;
	const struct entry_site *site;
	u32 stack;

	if (!entry_begins(registers, cookie, state, task->tgid))
		return 0;
	thread_state_get(state, task, pid_tgid); /* for its name */
	stack = entry_stack(registers, cookie, pid_tgid);
	ts = bpf_ktime_get_ns();
	emit_entry(cookie & COOKIE_PROBE_MASK, pid_tgid, ts,
		   (cookie >> COOKIE_REASON_SHIFT) & COOKIE_REASON_MASK, stack);
	allocation_unseen(cookie, task->tgid);
	if (!is_matmul(cookie))
		return 0;
	site = entry_site_find(cookie);
	matmul_emit(registers, cookie & PROBE_ID_MASK,
		    arch_entry_sp(registers) + (site ? site->stack_bytes : 0), ts);
	return 0;
}

static __always_inline int record_entry(struct pt_regs *registers)
{
	preemption_off();
	entry_hit(registers);
	preemption_on();
	return 0;
}

SEC("uprobe.multi")
int function_entry(struct pt_regs *registers)
{
	return record_entry(registers);
}

SEC("uprobe.multi")
int function_entry_emulated(struct pt_regs *registers)
{
	preemption_off();
	entry_hit(registers);
	entry_displace(registers);
	preemption_on();
	return 0;
}

SEC("uprobe")
int function_entry_single(struct pt_regs *registers)
{
	return record_entry(registers);
}
