/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes on functions of CUDA for the stack of who calls them, beside those by which calls are recorded, where they are. Programs of their own: one
 * that does both takes the verifier ten times as long.
 */
#include "emit.h"
#include "hits.h"
#define PREEMPTION_FLAVOUR launches
#include "preemption.h"
#define SPAN_SCRATCH launch_scratch
#include "launch_stacks.h"

static __noinline int launch_entry_hit(struct pt_regs *registers)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = thread_state_find(task);
	u64 cookie = bpf_get_attach_cookie(registers);

	if (!launch_stacks_over && !is_switched_off(cookie & COOKIE_PROBE_MASK) &&
	    place_begins(registers, cookie, state, task->tgid, PRICE_LAUNCH_STACKS))
		launch_hit(registers, cookie, task, state);
	return 0;
}

static __always_inline int record_launch(struct pt_regs *registers)
{
	preemption_off();
	launch_entry_hit(registers);
	preemption_on();
	return 0;
}

SEC("uprobe.multi")
int launch_entry(struct pt_regs *registers)
{
	return record_launch(registers);
}

SEC("uprobe.multi")
int launch_entry_emulated(struct pt_regs *registers)
{
	preemption_off();
	launch_entry_hit(registers);
	entry_displace(registers);
	preemption_on();
	return 0;
}

SEC("uprobe")
int launch_entry_single(struct pt_regs *registers)
{
	return record_launch(registers);
}
