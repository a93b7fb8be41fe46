/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of threads that sleep as the window opens, and who has what they wait for; everything else of their waits is noted already (scheduling.bpf.c). They do not
 * run, so their memory is read by this program, which may sleep, instead of by themselves.
 */
#define UNWIND_OTHERS
#define PREEMPTION_FLAVOUR sleepers

#include "stacks.h"
#include "futex_holder.h"
#include "kernel_workers.h"
#include "off_cpu.h"
#include "preemption.h"

/* One reader at a time, on whatever CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_scratch);
} sleeper_scratch SEC(".maps");

/* Has it not run since? */
static __always_inline bool still_sleeps(struct task_struct *task, const struct off_cpu *off,
					 u64 since_ns)
{
	return off->since_ns == since_ns && switches_of(task) == off->switches;
}

/* It may be woken, and sleep again with another stack, at any moment: that one stays. */
static __always_inline void sleeper_put(struct task_struct *task, struct off_cpu *off, u64 since_ns,
					union waiting_stack stack)
{
	if (!still_sleeps(task, off, since_ns))
		return;
	if (!__sync_val_compare_and_swap(&off->stack.both, 0, stack.both) &&
	    off->since_ns != since_ns)
		__sync_val_compare_and_swap(&off->stack.both, stack.both, 0);
}

/* As above: whose wait it is by now is looked at once more. */
static __always_inline void holder_put(struct task_struct *task, struct off_cpu *off, u64 since_ns)
{
	struct waited waited = {.address = off->waited.address};

	if (!waited.address)
		return;
	holder_find(task, (void *)bpf_task_pt_regs(task), &waited);
	if (!waited.holder || !still_sleeps(task, off, since_ns))
		return;
	if (!__sync_val_compare_and_swap(&off->waited.holder, 0, waited.holder) &&
	    off->since_ns != since_ns)
		__sync_val_compare_and_swap(&off->waited.holder, waited.holder, 0);
}

/* Read right after threads_off_cpu. */
SEC("iter.s/task")
int stacks_of_sleepers(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct stack_scratch *scratch;
	u32 zero = 0, pid, tid;
	union waiting_stack stack;
	struct off_cpu *off;
	u64 since_ns, hash;

	if (!task || is_kernel_worker(task) || !is_target_thread(task->tgid, task->pid))
		return 0;
	pid = task->tgid;
	tid = task->pid;
	off = bpf_map_lookup_elem(&off_cpu_threads, &tid);
	scratch = bpf_map_lookup_elem(&sleeper_scratch, &zero);
	if (!off || !scratch || !off->before || off->stack.id)
		return 0;
	since_ns = off->since_ns;
	if (!since_ns || !still_sleeps(task, off, since_ns) ||
	    !stack_walk_of(task, scratch, pid, 0, (struct stack_inner){.hash = pid}))
		return 0;
	if (!still_sleeps(task, off, since_ns))
		return 0;
	holder_put(task, off, since_ns);
	hash = scratch->walk.hash;
	preemption_off();
	stack.id = stack_walked(scratch, hash, (u64)pid << 32 | tid);
	preemption_on();
	stack.end = scratch->walk.end;
	if (stack.id)
		sleeper_put(task, off, since_ns, stack);
	return 0;
}
