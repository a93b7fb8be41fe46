/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What threads wait for: descriptors (waited_files.h), a futex, and who else has to do with it. Nothing is allocated here. */
#ifndef GPUPROBE_BPF_WAITED_H
#define GPUPROBE_BPF_WAITED_H

#include "arch_x86_64.h"
#include "emit.h"
#include "futex_holder.h"
#include "kernel_workers.h"
#include "off_cpu.h"
#include "ran.h"
#include "waited_files.h"

/* The name of a thread of no target, told once: it may have another one by the end. A function of its own: who asks is_thread_itself() has
 * no room for an event. */
static __noinline u32 stranger_text(const char *comm, u32 pid, u32 tid)
{
	struct waited_key key = {.file = WAITED_IS_THREAD, .pid = pid, .fd = tid};
	struct process_event event = {.kind = PROCESS_STRANGER};
	u32 *known, number;

	if (!comm)
		return 0;
	known = bpf_map_lookup_elem(&waited_files, &key);
	if (known)
		return *known;
	number = waited_number(false);
	if (!number || bpf_map_update_elem(&waited_files, &key, &number, BPF_NOEXIST))
		return 0;
	event.number = number;
	event.pid = pid;
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), comm);
	bpf_ringbuf_output(&process_events, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
	return number;
}

/* Has its cgroup, or one above it, used up its share of the CPUs? */
static __always_inline bool is_throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return BPF_CORE_READ(task, throttled);
	if (!bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count))
		return false;
	return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

/* Who gets the CPU of a thread that could go on. Nobody: it goes on elsewhere, or is throttled. */
static __always_inline void instead_find(struct off_cpu *off, struct task_struct *task,
					 const struct task_struct *next)
{
	off->throttled = is_throttled(task) ? VALUE_yes_no_yes : 0;
	off->ran_before = ran_count();
	off->instead_pid = next->tgid;
	off->instead_tid = next->pid;
	off->instead = 0;
	if (!next->pid)
		off->instead = TEXT_NOBODY;
	else if (!is_target(next->tgid))
		off->instead = stranger_text(next->comm, next->tgid, next->pid);
}

/* It has its CPU again: who of all that had it meanwhile ran longest? On another CPU it is still who got the first one. */
static __always_inline void instead_settle(struct off_cpu *off)
{
	const struct ran *ran;

	if (off->reason != VALUE_off_cpu_reason_preempted ||
	    off->cpu != (u16)bpf_get_smp_processor_id())
		return;
	ran = ran_longest(off->ran_before);
	if (!ran || ran->tid == off->instead_tid)
		return;
	off->instead_pid = ran->pid;
	off->instead_tid = ran->tid;
	if (!ran->tid)
		off->instead = TEXT_NOBODY;
	else
		off->instead = is_target(ran->pid)
				       ? 0
				       : stranger_text(ran->comm, ran->pid, ran->tid);
}

/* By the system call that the thread is in. ret_waited says nothing yet. last: of its place, NULL: an iterator asks. */
static __noinline int waited_find(struct task_struct *task, struct waited *ret_waited,
				  struct waited_last *last)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	struct waited_set set = {};

	if (!ret_waited || !is_in_system_call(task))
		return 0;
	if (arch_system_call(registers) == ARCH_FUTEX) {
		ret_waited->address = arch_argument(registers, 1);
		holder_find(task, registers, ret_waited);
		return 0;
	}
	if (!waited_descriptors(task, &set))
		return 0;
	ret_waited->text = waited_text(task, &set, last);
	if (set.count == 1 && !set.more && ret_waited->text)
		ret_waited->fd = set.fds[0];
	return 0;
}

#endif
