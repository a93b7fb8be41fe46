/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What threads wait for: descriptors (waited_files.h), a futex, and who else has to do with it. Nothing is allocated here. */
#ifndef GPUPROBE_BPF_WAITED_H
#define GPUPROBE_BPF_WAITED_H

#include "arch_x86_64.h"
#include "emit.h"
#include "kernel_workers.h"
#include "off_cpu.h"
#include "waited_files.h"

#define FUTEX_COMMAND	 127 /* without its flags */
#define FUTEX_WAIT	 0
#define FUTEX_LOCK_PI	 6
#define FUTEX_LOCK_PI2	 13
#define FUTEX_OWNER	 0x3fffffff
#define LOCK_CONTENDED	 2 /* what glibc's locks hold then */
#define MUTEX_OWNER	 8 /* of pthread_mutex_t: behind the lock and a counter */

/* The name of a thread of no target, told once: it may have another one by the end. A function of its own: who asks is_thread_itself() has
 * no room for an event. */
static __noinline u32 stranger_text(const struct task_struct *task)
{
	struct waited_key key = {.file = WAITED_IS_THREAD};
	struct process_event event = {.kind = PROCESS_STRANGER};
	u32 *known, number;

	if (!task)
		return 0;
	key.pid = task->tgid;
	key.fd = task->pid;
	known = bpf_map_lookup_elem(&waited_files, &key);
	if (known)
		return *known;
	number = waited_number(false);
	if (!number || bpf_map_update_elem(&waited_files, &key, &number, BPF_NOEXIST))
		return 0;
	event.number = number;
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), task->comm);
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
	off->instead_pid = next->tgid;
	off->instead_tid = next->pid;
	off->instead = 0;
	if (!next->pid)
		off->instead = TEXT_NOBODY;
	else if (!is_target(next->tgid))
		off->instead = stranger_text(next);
}

/* Who has the lock, if it is one that says so, and the one who is said to be it is a thread of the process. Threads of a pid
 * namespace have other numbers in their locks. */
static __always_inline void holder_find(const struct task_struct *task, u64 operation, u64 value,
					struct waited *ret_waited)
{
	u32 holder = 0, command = operation & FUTEX_COMMAND, self = task->pid;
	const struct off_cpu *off;

	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
		bpf_probe_read_user(&holder, sizeof(holder), (void *)ret_waited->address);
		holder &= FUTEX_OWNER;
	} else if (command == FUTEX_WAIT && (u32)value == LOCK_CONTENDED) {
		bpf_probe_read_user(&holder, sizeof(holder),
				    (void *)ret_waited->address + MUTEX_OWNER);
	}
	off = holder ? bpf_map_lookup_elem(&off_cpu_threads, &holder) : NULL;
	if (off && off->pid == (u32)task->tgid && holder != self)
		ret_waited->holder = holder;
}

/* By the system call that the thread is in. ret_waited says nothing yet. */
static __noinline int waited_find(struct task_struct *task, struct waited *ret_waited)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	struct waited_set set = {};

	if (!ret_waited || !is_in_system_call(task))
		return 0;
	if (arch_system_call(registers) == ARCH_FUTEX) {
		ret_waited->address = arch_argument(registers, 1);
		/* Of another thread's memory nothing can be read here. */
		if (task == bpf_get_current_task_btf())
			holder_find(task, arch_argument(registers, 2), arch_argument(registers, 3),
				    ret_waited);
		return 0;
	}
	if (!waited_descriptors(task, &set))
		return 0;
	ret_waited->text = waited_text(task, &set, task != bpf_get_current_task_btf());
	if (set.count == 1 && !set.more && ret_waited->text)
		ret_waited->fd = set.fds[0];
	return 0;
}

#endif
