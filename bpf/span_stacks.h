/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of calls and of USDT probes, where they were asked for: taken where the function or the probe begins, since at its end the
 * return address may be the kernel's. */
#ifndef GPUPROBE_BPF_SPAN_STACKS_H
#define GPUPROBE_BPF_SPAN_STACKS_H

#include "price.h"
#include "stacks.h"

/* Of the programs of one file, which do not interrupt each other: SPAN_SCRATCH is its name. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_scratch);
} SPAN_SCRATCH SEC(".maps");

static __noinline __attribute__((unused)) u32 span_stack(void *registers, u64 pid_tgid)
{
	u32 zero = 0;
	struct stack_scratch *scratch = bpf_map_lookup_elem(&SPAN_SCRATCH, &zero);

	return scratch ? stack_take(registers, scratch, pid_tgid) : 0;
}

/* The id of the stack at the entry of a function; 0: none was asked for. */
static __always_inline __attribute__((unused)) u32 call_stack(void *registers, u32 probe,
							      u64 pid_tgid)
{
	u64 begin_ns;
	u32 stack;

	if (!takes_call_stacks || is_counted(probe))
		return 0;
	begin_ns = price_begin(PRICE_CALL_STACKS);
	price_count(PRICE_CALL_STACKS);
	stack = span_stack(registers, pid_tgid);
	price_end(PRICE_CALL_STACKS, begin_ns);
	return stack;
}

#endif
