/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has the lock that a thread waits for. */
#ifndef GPUPROBE_BPF_FUTEX_HOLDER_H
#define GPUPROBE_BPF_FUTEX_HOLDER_H

#include "arch_x86_64.h"
#include "memory_of.h"
#include "off_cpu.h"

#define FUTEX_COMMAND	 127 /* without its flags */
#define FUTEX_WAIT	 0
#define FUTEX_LOCK_PI	 6
#define FUTEX_LOCK_PI2	 13
#define FUTEX_OWNER	 0x3fffffff
#define LOCK_CONTENDED	 2 /* what glibc's locks hold then */
#define MUTEX_OWNER	 8 /* of pthread_mutex_t: behind the lock and a counter */

/* Who has the lock, if it is one that says so, and the one who is said to be it is a thread of the process. Threads of a pid
 * namespace have other numbers in their locks. waited has the address. */
static __always_inline void holder_find(struct task_struct *task, const struct pt_regs *registers,
					struct waited *waited)
{
	u64 operation = arch_argument(registers, 2), value = arch_argument(registers, 3);
	u32 holder = 0, command = operation & FUTEX_COMMAND, self = task->pid;
	const struct off_cpu *off;

	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2) {
		if (memory_copy(task, &holder, sizeof(holder), waited->address))
			return;
		holder &= FUTEX_OWNER;
	} else if (command == FUTEX_WAIT && (u32)value == LOCK_CONTENDED) {
		if (memory_copy(task, &holder, sizeof(holder), waited->address + MUTEX_OWNER))
			return;
	}
	off = holder ? bpf_map_lookup_elem(&off_cpu_threads, &holder) : NULL;
	if (off && off->pid == (u32)task->tgid && holder != self)
		waited->holder = holder;
}

#endif
