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
	u32 depth; /* how many of them went into it */
};

/* Code that uses the frame pointer for numbers leads to what is no address: there the chain ends. */
static long stack_hash_next(u32 index, struct stack_hash *state)
{
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
	u32 id = stack_id_new(), size_bytes = sizeof(scratch->fact) + depth * sizeof(u64);

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

#endif
