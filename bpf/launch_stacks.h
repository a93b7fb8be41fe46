/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks at launches: of entries of CUDA's functions with COOKIE_LAUNCH, each with its number in its thread, so that whoever reads them
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

/* The id of its stack; 0: none was taken. */
static __noinline __attribute__((unused)) u32 launch_hit(void *registers, u64 cookie, u64 pid_tgid)
{
	u64 begin_ns = price_begin(PRICE_LAUNCH_STACKS);
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = thread_state_get(thread_state_find(task), task, pid_tgid);
	struct record_launch_stack record = {};
	u32 weight = launch_weight(), stack = 0;
	bool told = weight;

	if (state) {
		told |= state->launch_taken;
		record.number = ++state->launches;
		state->launch_taken = weight != 0;
	}
	if (weight)
		stack = span_stack(registers, pid_tgid);
	if (told) {
		/* The clock is read last: the call begins now. */
		fill_header(&record.header, sizeof(record), KIND_launch_stack, bpf_ktime_get_ns(),
			    0, pid_tgid, cookie & PROBE_ID_MASK);
		record.header.stack = stack;
		record.probe = cookie & PROBE_ID_MASK;
		record.launches = weight;
		emit(&record.header, sizeof(record));
	}
	price_end(PRICE_LAUNCH_STACKS, begin_ns);
	return stack;
}

/* False: it is an entry as any other. Of one that is only probed for this all is done. */
static __always_inline __attribute__((unused)) bool launch_only(struct pt_regs *registers,
								u64 cookie,
								const struct thread_state *state,
								const struct task_struct *task)
{
	if (!takes_launch_stacks || !(cookie & COOKIE_LAUNCH_ONLY))
		return false;
	if (!is_switched_off(cookie & COOKIE_PROBE_MASK) &&
	    place_begins(registers, cookie, state, task->tgid, PRICE_LAUNCH_STACKS))
		launch_hit(registers, cookie, task_pid_tgid(task));
	return true;
}

/* The id of the stack at the entry of a function; 0: none was asked for. */
static __always_inline __attribute__((unused)) u32 entry_stack(void *registers, u64 cookie,
							       u64 pid_tgid)
{
	if (takes_launch_stacks && cookie & COOKIE_LAUNCH)
		return launch_hit(registers, cookie, pid_tgid);
	return call_stack(registers, cookie & COOKIE_PROBE_MASK, pid_tgid);
}

#endif
