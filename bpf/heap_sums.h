/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What heap.bpf.c sums: blocks that are live, by address; stacks; processes. All maps but that of threads are sized by userspace.
 */
#ifndef GPUPROBE_BPF_HEAP_SUMS_H
#define GPUPROBE_BPF_HEAP_SUMS_H

#include "stacks.h"
#include "heap.h"

#define EXISTS	     (-17) /* -EEXIST */
#define MAXIMUM_TRIES 16

/* Of a thread that called one of the functions. */
struct heap_thread {
	u32 probe; /* of the open call; 0: none */
	u32 released_probe;
	u64 sp, return_address; /* of the open call: sp at its first instruction */
	u64 site;
	u64 bytes, address_at;
	u64 ts;	 /* of its entry, with heap_events */
	u64 old; /* the address that it gives back */
	struct heap_block old_block;
	bool old_known;
	u64 place_sp, place_return, place_site; /* of operator new; place_sp 0: in none */
	u64 released;				/* the address that was released last */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct heap_thread);
} heap_threads SEC(".maps");

/* Not in the above: from 6.19 on a thread's storage is 8 KiB at most (kmalloc_nolock()). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_scratch);
} heap_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32); /* id of the probe */
	__type(value, struct heap_function);
} heap_functions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct heap_key);
	__type(value, struct heap_block);
} heap_blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct heap_site);
} heap_sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tgid as the host sees it */
	__type(value, struct heap_process);
} heap_processes SEC(".maps");

/* ---- sums ---- */

static __always_inline void raise_to(u64 *maximum, u64 value)
{
	for (u32 i = 0; i < MAXIMUM_TRIES; i++) {
		u64 before = *(volatile u64 *)maximum;

		if (value <= before ||
		    __sync_val_compare_and_swap(maximum, before, value) == before)
			return;
	}
}

/* Not to be read while others add. */
#define ADD(sum, value) ((void)__sync_fetch_and_add(&(sum), value))

static __always_inline struct heap_process *process_get(u32 pid)
{
	struct heap_process *process = bpf_map_lookup_elem(&heap_processes, &pid);
	struct heap_process nothing = {};

	if (process)
		return process;
	bpf_map_update_elem(&heap_processes, &pid, &nothing, BPF_NOEXIST);
	process = bpf_map_lookup_elem(&heap_processes, &pid);
	if (!process)
		count_loss(VALUE_loss_reason_heap_processes_full);
	return process;
}

static __always_inline void live_add(struct heap_process *process, struct heap_site *site,
				     u64 bytes)
{
	u64 live;

	ADD(process->live_calls, 1);
	live = __sync_fetch_and_add(&process->live_bytes, bytes) + bytes;
	raise_to(&process->peak_bytes, live);
	if (!site)
		return;
	ADD(site->live_calls, 1);
	live = __sync_fetch_and_add(&site->live_bytes, bytes) + bytes;
	raise_to(&site->peak_bytes, live);
}

static __always_inline void live_subtract(struct heap_process *process,
					  const struct heap_block *block)
{
	struct heap_site *site = bpf_map_lookup_elem(&heap_sites, &block->site);

	ADD(process->live_calls, -1ULL);
	ADD(process->live_bytes, -block->bytes);
	if (!site)
		return;
	ADD(site->live_calls, -1ULL);
	ADD(site->live_bytes, -block->bytes);
}

/* Takes the block at an address out. False: it was not seen to be allocated. */
static __always_inline bool block_take(struct heap_process *process, u32 pid, u64 address,
				       struct heap_block *ret_block)
{
	struct heap_key key = {address, pid, process->generation};
	struct heap_block *found = bpf_map_lookup_elem(&heap_blocks, &key);

	if (!found)
		return false;
	*ret_block = *found;
	if (bpf_map_delete_elem(&heap_blocks, &key))
		return false;
	live_subtract(process, ret_block);
	return true;
}

/* Puts one there. If there is one it was freed unseen. */
static __always_inline void block_put(struct heap_process *process, u32 pid, u64 address,
				      const struct heap_block *block)
{
	struct heap_key key = {address, pid, process->generation};
	long result = bpf_map_update_elem(&heap_blocks, &key, block, BPF_NOEXIST);
	struct heap_block old;

	if (result == EXISTS) {
		count_loss(VALUE_loss_reason_heap_free_unseen);
		if (block_take(process, pid, address, &old)) {
			ADD(process->freed_calls, 1);
			ADD(process->freed_bytes, old.bytes);
		}
		result = bpf_map_update_elem(&heap_blocks, &key, block, BPF_NOEXIST);
	}
	if (result)
		count_loss(VALUE_loss_reason_heap_blocks_full);
	else
		live_add(process, bpf_map_lookup_elem(&heap_sites, &block->site), block->bytes);
}

/* ---- stacks ---- */

static __always_inline void site_new(u64 key, u32 pid, u32 stack)
{
	struct heap_site site = {.stack = stack, .pid = pid};

	if (bpf_map_update_elem(&heap_sites, &key, &site, BPF_NOEXIST) &&
	    !bpf_map_lookup_elem(&heap_sites, &key))
		count_loss(VALUE_loss_reason_heap_sites_full);
}

/* The key of the site of the thread, now at the entry of a function at sp. */
static __noinline u64 site_take(struct pt_regs *registers, u64 sp)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), hash;
	struct caller_stack callers = {};
	struct stack_scratch *scratch;
	u32 zero = 0, stack;

	scratch = bpf_map_lookup_elem(&heap_scratch, &zero);
	if (!scratch)
		return 0;
	bpf_probe_read_user(&callers.caller, sizeof(callers.caller), (void *)sp);
	stack_of_caller(registers, scratch, pid_tgid >> 32, &callers);
	hash = callers.hash;
	if (bpf_map_lookup_elem(&heap_sites, &hash))
		return hash;
	stack = stack_of_caller_id(registers, scratch, pid_tgid, &callers);
	if (!stack)
		hash = pid_tgid >> 32;
	site_new(hash, pid_tgid >> 32, stack);
	return hash;
}

#endif
