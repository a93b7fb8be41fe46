/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads in targets that are not theirs: that of gpuprobe's agent, and those that it brought about, such as the workers
 * of CUPTI, which are made inside calls of the agent's thread. Who made a thread only the moment of its making tells,
 * so each is noted with its maker while agents are about; userspace says which thread is an agent's, and what that one made,
 * before or after, is ours too. Names prove nothing: a target may give its threads any.
 */
#ifndef GPUPROBE_BPF_OWN_THREADS_H
#define GPUPROBE_BPF_OWN_THREADS_H

#include "emit.h"

/* Of a thread that a thread of ours made. */
static __always_inline void own_thread_add(u32 tid, u32 tgid)
{
	if (bpf_map_update_elem(&own_threads, &tid, &tgid, BPF_ANY))
		count_loss(VALUE_loss_reason_threads_full);
}

/* An agent is, or will be, in it; before it is a target already. */
static __always_inline bool has_agent(u32 tgid)
{
	return bpf_map_lookup_elem(&agent_processes, &tgid) != NULL;
}

/* A thread of such a process, or of a target, is made by the current one. */
static __always_inline void own_thread_made(const struct task_struct *parent,
					    const struct task_struct *child)
{
	struct thread_maker maker = {.tid = parent->pid, .pid = parent->tgid};
	u32 tid = child->pid;

	maker.ts = bpf_ktime_get_ns();
	/* First this one: who names the parent as ours looks for what it has made after that. */
	if (bpf_map_update_elem(&thread_makers, &tid, &maker, BPF_ANY))
		count_loss(VALUE_loss_reason_threads_full);
	if (is_own_thread(parent->pid))
		own_thread_add(tid, maker.pid);
}

/* Its number may become another's. */
static __always_inline void own_thread_freed(u32 tid)
{
	if (!agents_are_about)
		return;
	bpf_map_delete_elem(&thread_makers, &tid);
	bpf_map_delete_elem(&own_threads, &tid);
}

#endif
