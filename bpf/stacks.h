/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks of targets as facts: each is sent once, and records refer to it by its id. By frame pointers: code that
 * keeps none cuts the chain. Who looks for names takes the first address as that of an instruction and one byte off the
 * others, which are return addresses: a stack that begins with a return address begins with that byte.
 */
#ifndef GPUPROBE_BPF_STACKS_H
#define GPUPROBE_BPF_STACKS_H

#include "emit.h"
#include "arch_x86_64.h"

/* A stack fact as it is sent, and where it is built: of those that may interrupt each other every program has its own. */
struct stack_scratch {
	struct record_stack fact;
	u64 addresses[STACK_DEPTH_MAX];
};

struct stack_hash {
	const u64 *addresses;
	u64 hash;
	u32 first; /* behind so many of the addresses */
	u32 depth; /* up to which they went into it */
};

/* Code that uses the frame pointer for numbers leads to what is no address: there the chain ends. */
static long stack_hash_next(u32 index, struct stack_hash *state)
{
	index += state->first;
	if (index >= STACK_DEPTH_MAX || !arch_is_code_address(state->addresses[index]))
		return 1;
	state->depth = index + 1;
	state->hash = (state->hash ^ state->addresses[index]) * 0x9e3779b97f4a7c15ULL;
	state->hash ^= state->hash >> 29;
	return 0;
}

/* Ids are unique without a counter that all CPUs share. 0: this CPU has given all it has. */
static __always_inline u32 stack_id_new(void)
{
	struct counters *mine = counters_get();

	if (!mine || mine->stacks >= STACK_IDS_PER_CPU - 1)
		return 0;
	return (u32)++mine->stacks | bpf_get_smp_processor_id() % STACK_CPUS_MAX << STACK_ID_BITS;
}

/* Notes and sends the stack in scratch; what was not sent is forgotten: the next one of its kind tries again. */
static __always_inline u32 stack_send(struct stack_scratch *scratch, u64 hash, u64 pid_tgid,
				      u32 depth)
{
	u64 size_bytes = sizeof(scratch->fact) + (u64)depth * sizeof(u64);
	u32 id = stack_id_new();

	/* Asked where the verifier sees it, whatever the compiler knows. */
	__asm__ volatile("" : "+r"(size_bytes));
	if (!id || size_bytes > sizeof(*scratch) ||
	    bpf_map_update_elem(&stacks, &hash, &id, BPF_NOEXIST)) {
		count_loss(VALUE_loss_reason_stacks_full);
		return 0;
	}
	fill_header(&scratch->fact.header, size_bytes, KIND_stack, bpf_ktime_get_ns(), 0, pid_tgid,
		    0);
	scratch->fact.id = id;
	scratch->fact.depth = depth;
	if (try_emit(&scratch->fact.header, size_bytes))
		return id;
	bpf_map_delete_elem(&stacks, &hash);
	return 0;
}

_Static_assert((STACK_DEPTH_MAX & (STACK_DEPTH_MAX + 1)) == 0, "used as a mask");

/* The id of the stack of the current thread; 0 when there is none or no room for it. */
static __always_inline u32 stack_take(void *context, struct stack_scratch *scratch, u64 pid_tgid)
{
	long size = bpf_get_stack(context, scratch->addresses, sizeof(scratch->addresses),
				  BPF_F_USER_STACK);
	struct stack_hash state = {.addresses = scratch->addresses, .hash = pid_tgid >> 32};
	u32 *known;

	if (size <= 0)
		return 0;
	bpf_loop((u32)size / sizeof(u64), stack_hash_next, &state, 0);
	/* No larger, but the verifier does not know it. */
	state.depth &= STACK_DEPTH_MAX;
	if (!state.depth)
		return 0;
	known = bpf_map_lookup_elem(&stacks, &state.hash);
	return known ? *known : stack_send(scratch, state.hash, pid_tgid, state.depth);
}

/*
 * At the entry of a function: there the chain of frame pointers leaves out who called it, whose frame is not linked yet;
 * the byte before caller, the return address, becomes the first address. The function itself is left out. *ret_depth is how
 * many addresses there are, behind the first *ret_skipped of scratch (kernels from 6.11 on know the caller too, where the
 * function begins with `push %rbp`). The hash of them.
 */
static __always_inline u64 stack_of_caller(void *context, struct stack_scratch *scratch, u32 pid,
					   u64 caller, u32 *ret_depth, u32 *ret_skipped)
{
	long size = bpf_get_stack(context, scratch->addresses + 1,
				  sizeof(scratch->addresses) - sizeof(u64),
				  BPF_F_USER_STACK | 1);
	struct stack_hash state = {.addresses = scratch->addresses, .hash = pid};
	u32 depth = 1;

	scratch->addresses[0] = caller - 1;
	*ret_skipped = 0;
	if (size > 0 && size < (long)sizeof(scratch->addresses)) {
		depth += (u32)size / sizeof(u64);
		*ret_skipped = scratch->addresses[1] == caller;
	}
	if (*ret_skipped)
		scratch->addresses[1] = caller - 1;
	state.first = *ret_skipped;
	bpf_loop(depth - *ret_skipped, stack_hash_next, &state, 0);
	*ret_depth = state.depth > state.first ? state.depth - state.first : 0;
	return state.hash;
}

/* Its id, by what stack_of_caller() said; 0: there is no room for it. */
static __always_inline u32 stack_of_caller_id(void *context, struct stack_scratch *scratch,
					      u64 pid_tgid, u64 caller, u64 hash, u32 depth,
					      u32 skipped)
{
	u32 *known = bpf_map_lookup_elem(&stacks, &hash);

	if (known)
		return *known;
	if (skipped && bpf_get_stack(context, scratch->addresses, sizeof(scratch->addresses),
				     BPF_F_USER_STACK | 1) <= 0)
		return 0;
	scratch->addresses[0] = caller - 1;
	return depth && depth <= STACK_DEPTH_MAX ? stack_send(scratch, hash, pid_tgid, depth) : 0;
}

#endif
