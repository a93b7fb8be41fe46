/* Counting the hits of probes. */
#ifndef GPUPROBE_BPF_HITS_H
#define GPUPROBE_BPF_HITS_H

#include "arch_x86_64.h"
#include "emit.h"

/* As bpf_get_current_pid_tgid(), without the call. */
static __always_inline u64 task_pid_tgid(const struct task_struct *task)
{
	return (u64)task->tgid << 32 | (u32)task->pid;
}

static __always_inline u32 cookie_site_kind(u64 cookie)
{
	return (cookie >> COOKIE_SITE_SHIFT) & COOKIE_SITE_MASK;
}

static __always_inline u32 cookie_detail(u64 cookie)
{
	return (cookie >> COOKIE_DETAIL_SHIFT) & 0xf;
}

/* Counts the hit. False when it is not ours to record. A thread with a state is a target's: only
 * the others have to be looked up. */
static __always_inline bool entry_begins(const struct pt_regs *registers, u64 cookie,
					 const struct thread_state *state, u32 tgid)
{
	struct counters *mine = counters_get();

	if (!mine)
		return false;
	if (!state && !is_target(tgid)) {
		mine->strangers++;
		return false;
	}
	if (!window_open)
		return false;
	if (cookie & COOKIE_STEPPED)
		mine->stepped_entries++;
	else
		mine->entries++;
	return cookie_site_kind(cookie) != COOKIE_SITE_RESTART ||
	       !arch_condition_holds(registers, cookie_detail(cookie));
}

/* At an entry: does the program stand on an instruction that it is to go over? Another program on the same site
 * may have done so. For the program to do, which alone may write its context. */
static __always_inline u64 entry_skip_bytes(const struct pt_regs *registers, u64 cookie)
{
	if (cookie_site_kind(cookie) != COOKIE_SITE_SKIP_EMULATED ||
	    !arch_ip_is_at(registers, cookie >> COOKIE_ADDRESS_SHIFT))
		return 0;
	return cookie_detail(cookie);
}

#endif
