/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads in the targets that are ours: the agents', and what CUPTI made for them. The BPF programs leave them out; here is
 * what else must not count them: the CPU time of the targets, and who reads the capture. Main thread only, but for what agents
 * tell.
 */
#ifndef GPUPROBE_SESSION_OWN_THREADS_H
#define GPUPROBE_SESSION_OWN_THREADS_H

#include "collect/agent/agents.h"
#include "collect/bpf/bpf_source.h"
#include "store/batch.h"

struct own_threads {
	struct bpf_source *source;
	struct agents_threads told; /* for agents_config.threads */
	struct own_thread {
		u32 pid, tid;
		bool is_agent, lives, written;
		u64 cpu_ns;   /* when it was last looked at */
		u64 start_ns; /* the same when the window opened; 0 where it was not there yet */
		u64 gone_ns; /* CLOCK_MONOTONIC, when that was seen; 0: it lives */
	} *threads; /* all that were ever seen */
	size_t count, capacity;
};

/* Before any agent is put in. */
void own_threads_init(struct own_threads *own, struct bpf_source *source);
void own_threads_free(struct own_threads *own);

/* How much CPU time they have used so far, those that have ended too, as far as that was seen. */
u64 own_threads_cpu_ns(struct own_threads *own);
/* The window opens: what they use from here on is in the capture. */
void own_threads_begin(struct own_threads *own);
/* CPU time in the window, of those that were ever seen. */
u64 own_threads_window_cpu_ns(const struct own_threads *own);

/* Is there one of which own_threads_put_facts() has not written? */
bool own_threads_are_new(const struct own_threads *own);
/* A fact for each, at last with its CPU time. 0 or -ENOMEM. */
int own_threads_put_facts(struct own_threads *own, bool at_last, struct batch *batch);

#endif
