/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Return addresses that the kernel has overwritten for probes, and where they lead. */
#ifndef GPUPROBE_BPF_UNWIND_RETURNS_H
#define GPUPROBE_BPF_UNWIND_RETURNS_H

#include "arch_x86_64.h"
#include "unwind_walk.h"

#define INSTANCES_MAX 64

struct instance_search {
	struct unwind_walk *walk;
	u64 stack; /* where the address stood */
};

/* Inner frames come first. Of several probes of one function all but the last one have noted the address of the trampoline. */
static long next_instance(u32 index, struct instance_search *search)
{
	struct unwind_walk *walk = search->walk;
	const struct return_instance *instance = (void *)walk->instance;
	u64 place, address;

	if (!instance)
		return 1;
	place = BPF_CORE_READ(instance, stack);
	if (place > search->stack)
		return 1;
	address = BPF_CORE_READ(instance, orig_ret_vaddr);
	walk->instance = (u64)BPF_CORE_READ(instance, next);
	if (place != search->stack || address == walk->trampoline)
		return 0;
	walk->ip = address;
	walk->end = 0;
	return 1;
}

/* Puts the return address that the kernel has overwritten for a probe, there at `stack`, into ip. */
static __noinline int find_original(struct unwind_walk *walk, u64 stack)
{
	struct instance_search search = {walk, stack};

	if (!walk)
		return 0;
	walk->end = VALUE_stack_end_in_probe;
	bpf_loop(INSTANCES_MAX, next_instance, &search, 0);
	return 0;
}

/*
 * The trampoline of return probes from Linux 6.11 on (the kernel's uretprobe_trampoline_entry): it pushes rax, rcx and
 * r11, makes a system call, which writes the return address where rax was, pops r11 and rcx, and returns. Before it was an int3: at offset
 * 0 both are alike.
 */
#define TRAMPOLINE_PUSHED_ONE	0x1
#define TRAMPOLINE_PUSHED_TWO	0x2
#define TRAMPOLINE_CALLED	0xd
#define TRAMPOLINE_POPPED_ONE	0xf
#define TRAMPOLINE_RETURNS	0x10

static __always_inline u64 trampoline_words(u64 offset)
{
	if (offset == TRAMPOLINE_PUSHED_ONE || offset == TRAMPOLINE_RETURNS)
		return 1;
	if (offset == TRAMPOLINE_PUSHED_TWO || offset == TRAMPOLINE_POPPED_ONE)
		return 2;
	return offset ? 3 : 0;
}

#endif
