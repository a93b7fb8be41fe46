/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is the thread on its home stack? A return address may be hijacked only there: on a fiber's stack
 * or an alternate signal stack the kernel's list of hijacked returns, which it orders by stack
 * pointer, goes wrong and the target gets SIGILL (measured: docs/uprobes.md). The home stack is
 * derived, never taken from the first hit: of the main thread from mm->start_stack, of others from
 * the mapping that holds the thread pointer, which glibc and musl put at the top of the stack they
 * make. In doubt the answer is no.
 */
#ifndef GPUPROBE_BPF_HOME_STACK_H
#define GPUPROBE_BPF_HOME_STACK_H

#include "arch_x86_64.h"
#include "maps.h"

#define HOME_MAIN_MAX_BYTES   (8ULL << 20)  /* the usual RLIMIT_STACK */
#define HOME_THREAD_MAX_BYTES (16ULL << 20) /* a mapping may hold more than the stack */

struct home_query {
	u64 low;
	u64 high;
};

static long home_mapping_found(struct task_struct *task, struct vm_area_struct *mapping,
			       struct home_query *query)
{
	query->low = mapping->vm_start;
	query->high = mapping->vm_end;
	return 0;
}

/* Fills state->home_*. 0, or the reason why it could not. */
static __always_inline u32 home_determine(struct thread_state *state, struct task_struct *task)
{
	u64 thread_pointer = arch_thread_pointer(task);
	struct home_query query = {};
	u64 low;

	if (task->pid == task->tgid) {
		u64 start = BPF_CORE_READ(task, mm, start_stack);

		state->home_high = start;
		state->home_low = start - HOME_MAIN_MAX_BYTES;
		return 0;
	}
	/* It fails while another thread holds the lock of the memory map: ask again at the next
	 * call. */
	if (bpf_find_vma(task, thread_pointer, home_mapping_found, &query, 0))
		return VALUE_entry_only_reason_stack_unknown;
	/* A stack inside the heap: fibers may have theirs in the same mapping. */
	if (query.low < BPF_CORE_READ(task, mm, brk) &&
	    query.high > BPF_CORE_READ(task, mm, start_brk)) {
		state->home_unknown = 1;
		return VALUE_entry_only_reason_stack_unknown;
	}
	low = thread_pointer - HOME_THREAD_MAX_BYTES;
	state->home_low = low > query.low ? low : query.low;
	state->home_high = thread_pointer;
	return 0;
}

/* 0 when sp lies on the home stack, else VALUE_entry_only_reason_*. */
static __always_inline u32 home_stack_check(struct thread_state *state, struct task_struct *task,
					    u64 sp)
{
	if (state->home_unknown)
		return VALUE_entry_only_reason_stack_unknown;
	if (!state->home_high) {
		u32 reason = home_determine(state, task);

		if (reason)
			return reason;
	}
	if (sp < state->home_low || sp >= state->home_high)
		return VALUE_entry_only_reason_off_home_stack;
	/* While a handler that was set up with SS_AUTODISARM runs on it, the task has none. */
	if (task->sas_ss_size) {
		state->alternate_low = task->sas_ss_sp;
		state->alternate_bytes = task->sas_ss_size;
	}
	if (sp - state->alternate_low < state->alternate_bytes)
		return VALUE_entry_only_reason_off_home_stack;
	return 0;
}

#endif
