/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that never were outside the kernel. Those of io_uring and vhost are threads of the process that has them made, and have a copy of
 * the registers of the system call that made them: they are in no call. */
#ifndef GPUPROBE_BPF_KERNEL_WORKERS_H
#define GPUPROBE_BPF_KERNEL_WORKERS_H

#include "arch_x86_64.h"
#include "types.h"

#define PF_IO_WORKER   0x10
#define PF_USER_WORKER 0x4000
#define PF_KTHREAD     0x200000

static __always_inline bool is_kernel_worker(const struct task_struct *task)
{
	return task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER);
}

/* Is the thread in the system call that its registers tell of? */
static __always_inline bool is_in_system_call(struct task_struct *task)
{
	return !is_kernel_worker(task) && arch_is_system_call((void *)bpf_task_pt_regs(task));
}

#endif
