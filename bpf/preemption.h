/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preemption off while a uprobe program runs. The kernel lets such a program be preempted, and the
 * same program run on the same CPU for another thread before the first goes on. From 6.13 on a
 * program with 64 bytes of stack or more has its variables on a stack of which there is one a CPU
 * and program, not one a thread: the second run overwrites the variables of the first (seen on
 * 6.19.14 and 7.3.4, CONFIG_PREEMPT_LAZY: a page fault in the kernel that killed the target's
 * thread; calls that were never recorded). It also keeps the counters of a CPU right.
 *
 * The program itself must have next to no stack of its own, since that would be in use before the
 * first line runs: so it only calls a function that is not inlined.
 */
#ifndef GPUPROBE_BPF_PREEMPTION_H
#define GPUPROBE_BPF_PREEMPTION_H

#include "types.h"

/* The linker of libbpf 1.4 refuses the same extern without a result from two files, so each file has its own
 * flavour of the name; what stands behind ___ does not count when the kernel's function is looked up. */
#ifndef PREEMPTION_FLAVOUR
#error define PREEMPTION_FLAVOUR, another one in each file, before including this
#endif
#define PREEMPTION_JOIN(name, flavour) name##___##flavour
#define PREEMPTION_NAME(name, flavour) PREEMPTION_JOIN(name, flavour)
#define preempt_disable PREEMPTION_NAME(bpf_preempt_disable, PREEMPTION_FLAVOUR)
#define preempt_enable	PREEMPTION_NAME(bpf_preempt_enable, PREEMPTION_FLAVOUR)

/* From 6.10 on, hence on every kernel with such stacks. */
extern void preempt_disable(void) __ksym __weak;
extern void preempt_enable(void) __ksym __weak;

static __always_inline void preemption_off(void)
{
	if (bpf_ksym_exists(preempt_disable))
		preempt_disable();
}

static __always_inline void preemption_on(void)
{
	if (bpf_ksym_exists(preempt_enable))
		preempt_enable();
}

#endif
