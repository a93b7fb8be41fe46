/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Function probes that leave the target's stack alone: one program at the entry, one on every
 * instruction by which the function is left (ret, tail jump). Right for exceptions, fibers,
 * alternate signal stacks and whatever else a target does with its stack.
 *
 * - sites_entry: at the entry.
 * - sites_entry_emulated: the same, doing itself what the instruction does where that is described.
 * - sites_return: at the exits; the kernel single-steps the instruction.
 * - sites_return_emulated: the same, doing itself what the instruction does (Linux 6.19 lets a
 * program set the registers), which is an order of magnitude cheaper.
 * - sites_entry_single, sites_return_single: the first two as one perf event a site.
 */
#include "emit.h"
#include "allocation.h"
#include "hits.h"
#include "home_stack.h"
#include "matmul_emit.h"
#define PREEMPTION_FLAVOUR sites
#include "preemption.h"
#define SPAN_SCRATCH site_scratch
#include "span_stacks.h"
#include "threads.h"

/* Context of the searches through the frames away from the home stack. */
struct away_query {
	struct away_frames *frames;
	u64 sp;
	u32 probe;
	u32 best;
};

static long find_away(u32 index, struct away_query *query)
{
	away_search(query->frames, index, query->sp, query->probe, &query->best);
	return query->best != AWAY_NONE;
}

static long place_away(u32 index, struct away_query *query)
{
	away_search_place(query->frames, index, query->sp, &query->best);
	return 0;
}

/* When it began; the same below. */
static __always_inline u64 begin_away(struct thread_state *state, u64 pid_tgid, u64 sp, u32 probe,
				      u32 stack)
{
	struct away_query query = {.frames = &state->away, .sp = sp, .best = AWAY_NONE};
	struct frame *frame;
	u64 now;

	bpf_loop(AWAY_FRAMES_MAX, place_away, &query, 0);
	frame = away_at(&state->away, query.best);
	now = bpf_ktime_get_ns();
	if (frame->sp)
		emit_call(frame, pid_tgid, now, VALUE_call_ended_unwound);
	else
		state->away.count++;
	frame->sp = sp;
	frame->ts = now;
	frame->probe = probe;
	frame->stack = stack;
	return now;
}

static __always_inline u64 begin_home(struct thread_state *state, struct task_struct *task,
				      u64 pid_tgid, u64 sp, u32 probe, u32 stack)
{
	struct frame *top = frames_top(&state->frames);
	u64 ts;

	if (top && top->sp <= sp)
		close_dead_frames(state, pid_tgid, sp, slot_is_hijacked(task, sp));
	ts = bpf_ktime_get_ns();
	if (!frames_push(&state->frames, sp, ts, probe, stack)) {
		count_loss(VALUE_loss_reason_too_deep);
		emit_entry(probe, pid_tgid, ts, VALUE_entry_only_reason_too_deep, stack);
	}
	return ts;
}

static __noinline int enter_hit(struct pt_regs *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = thread_state_find(task);
	u64 cookie = bpf_get_attach_cookie(registers), sp = arch_entry_sp(registers);
	const struct entry_site *site = entry_site_find(cookie);
	u64 pid_tgid = task_pid_tgid(task), ts;
	u32 probe = cookie & COOKIE_PROBE_MASK, stack;

	if (site)
		sp += site->stack_bytes;
	if (!entry_begins(registers, cookie, state, task->tgid))
		return 0;
	if (is_allocator(cookie))
		allocation_begin(registers, probe & PROBE_ID_MASK, sp);
	state = thread_state_get(state, task, pid_tgid);
	stack = entry_stack(registers, cookie, pid_tgid);
	if (!state) {
		ts = bpf_ktime_get_ns();
		count_loss(VALUE_loss_reason_no_storage);
		emit_entry(probe, pid_tgid, ts, VALUE_entry_only_reason_no_storage, stack);
	} else if (home_stack_check(state, task, sp)) {
		ts = begin_away(state, pid_tgid, sp, probe, stack);
	} else {
		ts = begin_home(state, task, pid_tgid, sp, probe, stack);
	}
	if (is_matmul(cookie))
		matmul_emit(registers, probe & PROBE_ID_MASK, sp, ts);
	return 0;
}

static __always_inline void end_home(struct thread_state *state, u64 pid_tgid, u64 sp, u32 probe,
				     u64 end_ts, u8 ended)
{
	struct frame *top;

	if (sp < state->home_low || sp >= state->home_high)
		return;
	close_dead_frames(state, pid_tgid, sp, true);
	top = frames_top(&state->frames);
	if (!top || top->sp != sp || top->probe != probe)
		return;
	emit_call(top, pid_tgid, end_ts, ended);
	frames_pop(&state->frames);
}

/* Comes before end_home(): an alternate signal stack may lie inside the home stack, above calls that live. */
static __always_inline bool end_away(struct thread_state *state, u64 pid_tgid, u64 sp, u32 probe,
				     u64 end_ts, u8 ended)
{
	struct away_query query = {
		.frames = &state->away, .sp = sp, .probe = probe, .best = AWAY_NONE};
	struct frame *frame;

	if (!state->away.count)
		return false;
	bpf_loop(AWAY_FRAMES_MAX, find_away, &query, 0);
	if (query.best == AWAY_NONE)
		return false;
	frame = away_at(&state->away, query.best);
	emit_call(frame, pid_tgid, end_ts, ended);
	frame->sp = 0;
	state->away.count--;
	return true;
}

/* sp: where the return address lies. A call that began before the window has no frame: that is no loss. */
static __always_inline void leave(struct pt_regs *registers, u64 cookie, u64 sp, u8 ended)
{
	u64 end_ts = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = thread_state_find(task);
	u64 pid_tgid = task_pid_tgid(task);
	u32 probe = cookie & COOKIE_PROBE_MASK;
	struct probe_hits *hits = probe_hits_of(cookie);

	/* After the window nothing changes any more: what is open then is written as open. */
	if (!window_open || !hits || !state)
		return;
	if (cookie & COOKIE_STEPPED)
		hits->stepped_exits++;
	else
		hits->exits++;
	if (!end_away(state, pid_tgid, sp, probe, end_ts, ended))
		end_home(state, pid_tgid, sp, probe, end_ts, ended);
	if (is_allocator(cookie) && ended == VALUE_call_ended_returned)
		allocation_end(registers, probe & PROBE_ID_MASK, sp);
	else if (is_allocator(cookie))
		allocation_jumped(probe & PROBE_ID_MASK, sp);
}

static __always_inline int enter(struct pt_regs *registers)
{
	preemption_off();
	enter_hit(registers);
	preemption_on();
	return 0;
}

SEC("uprobe.multi")
int sites_entry(struct pt_regs *registers)
{
	return enter(registers);
}

SEC("uprobe.multi")
int sites_entry_emulated(struct pt_regs *registers)
{
	preemption_off();
	enter_hit(registers);
	entry_displace(registers);
	preemption_on();
	return 0;
}

SEC("uprobe")
int sites_entry_single(struct pt_regs *registers)
{
	return enter(registers);
}

/* What a `ret` takes off the stack. */
static __always_inline u64 site_popped_bytes(u64 cookie)
{
	return 8 + (cookie >> COOKIE_POPPED_SHIFT) * 8;
}

/* True when the instruction is still to be done. */
static __noinline int leave_hit(struct pt_regs *registers)
{
	u64 cookie = bpf_get_attach_cookie(registers), sp = arch_entry_sp(registers);
	bool still_to_do = arch_ip_is_at(registers, cookie >> COOKIE_ADDRESS_SHIFT);

	switch (cookie_site_kind(cookie)) {
	case COOKIE_SITE_RETURN:
	case COOKIE_SITE_RETURN_EMULATED:
		leave(registers, cookie, still_to_do ? sp : sp - site_popped_bytes(cookie),
		      VALUE_call_ended_returned);
		break;
	case COOKIE_SITE_CONDITION:
		/* One that is not taken leaves nothing. */
		if (!arch_condition_holds(registers, cookie_detail(cookie)))
			break;
		/* fall through */
	default:
		leave(registers, cookie, sp, VALUE_call_ended_replaced);
	}
	return still_to_do;
}

static __always_inline int leave_by_kernel(struct pt_regs *registers)
{
	preemption_off();
	leave_hit(registers);
	preemption_on();
	return 0;
}

SEC("uprobe.multi")
int sites_return(struct pt_regs *registers)
{
	return leave_by_kernel(registers);
}

SEC("uprobe")
int sites_return_single(struct pt_regs *registers)
{
	return leave_by_kernel(registers);
}

/* With a second emulator on the site (another gpuprobe) doing the instruction twice would kill the target. The plan
 * has seen to it that no target has a shadow stack, but strangers that map the file since may, and what a target
 * executes. Only the program itself may write its context. */
SEC("uprobe.multi")
int sites_return_emulated(struct pt_regs *registers)
{
	u64 cookie = bpf_get_attach_cookie(registers);
	bool still_to_do;

	preemption_off();
	still_to_do = leave_hit(registers);
	preemption_on();
	if (!still_to_do || arch_has_shadow_stack(bpf_get_current_task_btf()))
		return 0;
	if (cookie_site_kind(cookie) == COOKIE_SITE_RETURN_EMULATED)
		arch_emulate_return(registers, site_popped_bytes(cookie));
	else if (cookie_site_kind(cookie) == COOKIE_SITE_JUMP_EMULATED)
		arch_emulate_jump(registers, cookie_detail(cookie));
	return 0;
}
