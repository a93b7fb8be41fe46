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

/* Is a stack taken at its entry, and as what? PRICE_SORTS: none is. Of calls that launch where nothing else tells of their work. */
static __always_inline u32 call_stack_sort(u64 cookie)
{
	if (takes_call_stacks && !is_counted(cookie & COOKIE_PROBE_MASK))
		return PRICE_CALL_STACKS;
	if (takes_launch_stacks && cookie & COOKIE_LAUNCH && !launch_stacks_over &&
	    (launch_one_in <= 1 || bpf_get_prandom_u32() % launch_one_in == 0))
		return PRICE_LAUNCH_STACKS;
	return PRICE_SORTS;
}

/* The id of the stack at the entry of a function; 0: none was asked for. */
static __always_inline __attribute__((unused)) u32 entry_stack(void *registers, u64 cookie, u64 pid_tgid)
{
	u32 sort = call_stack_sort(cookie), stack;
	u64 begin_ns;

	if (sort >= PRICE_SORTS)
		return 0;
	begin_ns = price_begin(sort);
	price_count(sort);
	stack = span_stack(registers, pid_tgid);
	price_end(sort, begin_ns);
	return stack;
}

#endif
