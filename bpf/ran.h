/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had a CPU while a thread waited for it. Who made the thread leave may have run for microseconds, and others behind that: so of each CPU it is kept who
 * ran there last, and for how long at a stretch.
 */
#ifndef GPUPROBE_BPF_RAN_H
#define GPUPROBE_BPF_RAN_H

#include "types.h"

#define RAN_KEPT	16 /* a power of two */
#define COMM_BYTES	16 /* TASK_COMM_LEN */

struct ran {
	u64 ns;
	u32 pid, tid; /* 0: nobody */
	char comm[COMM_BYTES];
};

struct ran_log {
	u64 count; /* of all that there were */
	u64 since_ns; /* when the last one ended; 0: it is not known */
	struct ran last[RAN_KEPT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ran_log);
} ran_logs SEC(".maps");

static __always_inline struct ran_log *ran_log_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&ran_logs, &zero);
}

/* A thread leaves this CPU. */
static __always_inline void ran_note(const struct task_struct *task)
{
	struct ran_log *log = ran_log_get();
	u64 now_ns = bpf_ktime_get_ns();
	struct ran *ran;

	if (!log)
		return;
	ran = &log->last[log->count++ % RAN_KEPT];
	ran->ns = log->since_ns ? now_ns - log->since_ns : 0;
	log->since_ns = now_ns;
	ran->pid = task->tgid;
	ran->tid = task->pid;
	bpf_probe_read_kernel(ran->comm, COMM_BYTES, task->comm);
}

/* How many have left this CPU. */
static __always_inline u64 ran_count(void)
{
	const struct ran_log *log = ran_log_get();

	return log ? log->count : 0;
}

/* Who ran longest at a stretch of those that left this CPU behind the first `since`, as far as they are kept; NULL: nobody. */
static __always_inline const struct ran *ran_longest(u64 since)
{
	const struct ran_log *log = ran_log_get();
	const struct ran *longest = NULL;

	if (!log)
		return NULL;
	for (u32 i = 1; i <= RAN_KEPT; i++) {
		const struct ran *ran = &log->last[(log->count - i) % RAN_KEPT];

		if (log->count - since < i)
			break;
		if (!longest || ran->ns > longest->ns)
			longest = ran;
	}
	return longest;
}

#endif
