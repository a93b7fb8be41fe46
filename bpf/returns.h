/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's list of a thread's hijacked returns, innermost first, and who may have some of ours. */
#ifndef GPUPROBE_BPF_RETURNS_H
#define GPUPROBE_BPF_RETURNS_H

#include "emit.h"
#include "threads.h"

#define RETURNS_MAX 64 /* the kernel's own limit */

struct return_walk {
	struct return_instance *next;
	u64 slot; /* where the return address stood */
	u64 address;
	u64 trampoline;
};

static __always_inline void returns_begin(struct return_walk *walk, struct task_struct *task)
{
	walk->next = BPF_CORE_READ(task, utask, return_instances);
	walk->trampoline = arch_trampoline(task);
}

/* False when there are no more. Calls that return through one slot (tail calls) come one after the other, each with
 * the address that stood there at first. */
static __always_inline bool returns_next(struct return_walk *walk)
{
	struct return_instance *instance = walk->next;

	if (!instance || !walk->trampoline)
		return false;
	walk->slot = BPF_CORE_READ(instance, stack);
	walk->address = BPF_CORE_READ(instance, orig_ret_vaddr);
	walk->next = BPF_CORE_READ(instance, next);
	return true;
}

/* Was it forked by a thread of a target that was inside hijacked calls? Its stack is a copy. */
static __always_inline bool is_heir(u32 tgid)
{
	return bpf_map_lookup_elem(&heirs, &tgid) != NULL;
}

#endif
