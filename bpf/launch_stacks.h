/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks at launches: of entries of CUDA's functions, each with its number in its thread, so that whoever reads them
 * knows whether one is missing between two.
 */
#ifndef GPUPROBE_BPF_LAUNCH_STACKS_H
#define GPUPROBE_BPF_LAUNCH_STACKS_H

#include "hits.h"
#include "price.h"
#include "span_stacks.h"
#include "threads.h"

#define LAUNCH_RATE_NS 100000000ULL /* so long what is taken follows what was */

/* One in how many. It follows the hits of the time before, so which of the next are taken does not depend on these. */
static __always_inline void launch_rate_look(u64 now_ns)
{
	u64 spent_ns = now_ns - launch_since_ns, hits = launch_hits, rate;
	u32 wanted = launch_samples_per_second;

	if (spent_ns < LAUNCH_RATE_NS || !wanted)
		return;
	rate = hits * (1000000000 / 1024) / (spent_ns / 1024 + 1);
	launch_one_in = rate / wanted + 1;
	launch_since_ns = now_ns;
	launch_hits = 0;
	launch_samples = 0;
}

/* For how many launches this one stands; 0: its stack is not taken. */
static __always_inline u32 launch_weight(void)
{
	u32 one_in;

	if (!launch_samples_per_second)
		return 1;
	launch_rate_look(bpf_ktime_get_ns());
	__sync_fetch_and_add(&launch_hits, 1);
	one_in = launch_one_in;
	if (one_in > 1 && bpf_get_prandom_u32() % one_in)
		return 0;
	if (!one_in)
		one_in = 1;
	/* A burst behind a quiet time. */
	__sync_fetch_and_add(&launch_samples, 1);
	if (launch_samples > launch_samples_per_second / 8 + 1) {
		launch_one_in = one_in * 2;
		launch_samples = 0;
	}
	return one_in;
}

/* Is the next entry to be told of, with its stack or without it? What has been found out stands in the state of the thread: the verifier goes through
 * the walk once for each number that it knows. */
static __always_inline bool launch_begins(struct thread_state *state)
{
	u32 weight = launch_weight();
	bool told = weight || state->launch_taken;

	state->launches++;
	state->launch_weight = weight;
	state->launch_taken = weight != 0;
	return told;
}

static __always_inline void launch_emit(const struct thread_state *state, u64 cookie, u64 pid_tgid,
					u32 stack)
{
	struct record_launch_stack record = {.probe = cookie & PROBE_ID_MASK,
					     .number = state->launches,
					     .launches = state->launch_weight};

	/* The clock is read last: the call begins now. */
	fill_header(&record.header, sizeof(record), KIND_launch_stack, bpf_ktime_get_ns(), 0,
		    pid_tgid, record.probe);
	record.header.stack = stack;
	emit(&record.header, sizeof(record));
}

static __always_inline void launch_hit(struct pt_regs *registers, u64 cookie,
				       struct task_struct *task, struct thread_state *state)
{
	u64 pid_tgid = task_pid_tgid(task);
	u32 stack = 0;

	state = thread_state_get(state, task, pid_tgid);
	if (!state) {
		count_loss(VALUE_loss_reason_no_storage);
		return;
	}
	state->launch_begin_ns = price_begin(PRICE_LAUNCH_STACKS);
	if (launch_begins(state)) {
		if (state->launch_taken)
			stack = span_stack(registers, pid_tgid);
		launch_emit(state, cookie, pid_tgid, stack);
	}
	price_end(PRICE_LAUNCH_STACKS, state->launch_begin_ns);
}

#endif
