/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a thread is woken since the time is over for which it wanted to wait: that of a sleep, of epoll_wait, of a futex. The kernel has the timers of all that waits
 * for so long and no longer on its stack of the thread that waits, and no others: what is set by timerfd_settime or setitimer lies elsewhere. (Which timer a CPU
 * sees to stands in hrtimer_bases, too, which is out of reach on kernels without CONFIG_KALLSYMS_ALL.)
 */
#ifndef GPUPROBE_BPF_OWN_TIMER_H
#define GPUPROBE_BPF_OWN_TIMER_H

#include "arch_x86_64.h"
#include "types.h"

/* The timer that a CPU sees to, in an interrupt: its address; 0: none. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} timers_over SEC(".maps");

static __always_inline void set_timer_over(u64 address)
{
	u32 zero = 0;
	u64 *timer = bpf_map_lookup_elem(&timers_over, &zero);

	if (timer)
		*timer = address;
}

/* Of a thread that is woken, on the CPU on which this runs. */
static __always_inline bool is_own_timer(const struct task_struct *task)
{
	u32 zero = 0;
	const u64 *timer = bpf_map_lookup_elem(&timers_over, &zero);

	return timer && *timer - (u64)task->stack < ARCH_KERNEL_STACK_BYTES;
}

#endif
