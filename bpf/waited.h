/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What threads wait for: the file of a descriptor, a futex. Each file that anybody waits for is told of once, and gets the number
 * of a text; userspace looks at once what it is, and whether the descriptor still is that file. Nothing is allocated here.
 */
#ifndef GPUPROBE_BPF_WAITED_H
#define GPUPROBE_BPF_WAITED_H

#include "arch_x86_64.h"
#include "emit.h"
#include "kernel_workers.h"
#include "off_cpu.h"

struct waited_key {
	u64 file, inode;
	u32 pid, fd;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITED_MAX);
	__type(key, struct waited_key);
	__type(value, u32);
} waited_files SEC(".maps");

#define WAITED_IS_THREAD ~0ULL /* no file has this address */
#define IS_CALL(call)	 number == (call) ||
#define FUTEX_COMMAND	 127 /* without its flags */
#define FUTEX_WAIT	 0
#define FUTEX_LOCK_PI	 6
#define FUTEX_LOCK_PI2	 13
#define FUTEX_OWNER	 0x3fffffff
#define LOCK_CONTENDED	 2 /* what glibc's locks hold then */
#define MUTEX_OWNER	 8 /* of pthread_mutex_t: behind the lock and a counter */

struct pollfd_head {
	u32 fd;
	u32 events;
};

/* A number without a counter that all CPUs share; 0: this one has given all it has. The iterator over threads may be interrupted by a
 * switch, and counts by itself. */
static __always_inline u32 waited_number(bool iterates)
{
	struct counters *mine = counters_get();
	u64 count;

	if (!mine)
		return 0;
	count = iterates ? mine->waited_before++ : mine->waited++;
	if (count >= WAITED_PER_CPU)
		return 0;
	return TEXT_WAITED +
	       (bpf_get_smp_processor_id() % WAITED_CPUS_MAX * 2 + iterates) * WAITED_PER_CPU +
	       (u32)count;
}

static __always_inline u32 waited_text(u32 pid, u32 fd, u64 file, bool iterates)
{
	struct waited_key key = {.file = file, .pid = pid, .fd = fd};
	struct process_event event = {.kind = PROCESS_WAITED_FOR, .pid = pid, .thread = fd};
	struct inode *inode = BPF_CORE_READ((struct file *)file, f_inode);
	u32 *known, number;

	key.inode = BPF_CORE_READ(inode, i_ino);
	known = bpf_map_lookup_elem(&waited_files, &key);
	if (known)
		return *known;
	number = waited_number(iterates);
	if (!number || bpf_map_update_elem(&waited_files, &key, &number, BPF_NOEXIST)) {
		/* Another CPU may have been first. */
		known = bpf_map_lookup_elem(&waited_files, &key);
		return known ? *known : 0;
	}
	event.number = number;
	event.ts = bpf_ktime_get_ns();
	event.address = key.inode;
	bpf_ringbuf_output(&process_events, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
	return number;
}

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

static __always_inline void descriptor_find(struct task_struct *task, u32 fd,
					    struct waited *ret_waited)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file)
		return;
	ret_waited->fd = fd;
	ret_waited->text =
		waited_text(task->tgid, fd, (u64)file, task != bpf_get_current_task_btf());
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
	u64 number = arch_system_call(registers), first = arch_argument(registers, 1);
	struct pollfd_head polled;

	if (!ret_waited || !is_in_system_call(task))
		return 0;
	if (number == ARCH_FUTEX) {
		ret_waited->address = first;
		/* Of another thread's memory nothing can be read here. */
		if (task == bpf_get_current_task_btf())
			holder_find(task, arch_argument(registers, 2), arch_argument(registers, 3),
				    ret_waited);
		return 0;
	}
	if (number == ARCH_POLL || number == ARCH_PPOLL) {
		/* Of several nobody knows which. */
		if (arch_argument(registers, 2) == 1 && task == bpf_get_current_task_btf() &&
		    !bpf_probe_read_user(&polled, sizeof(polled), (void *)first))
			descriptor_find(task, polled.fd, ret_waited);
		return 0;
	}
	if (ARCH_DESCRIPTOR_CALLS(IS_CALL) false)
		descriptor_find(task, (u32)first, ret_waited);
	return 0;
}

#endif
