/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounts of memory by the functions that allocate it and give it back: what they are asked is kept at their entry, what
 * came of it read at their return, by the programs that stand there for the calls anyway.
 *
 * Of functions that call each other (cudaMalloc, cuMemAlloc_v2) the outermost one counts: what is open is one call a
 * thread. That it is still open is known by the return address that it will need: exceptions may have left it.
 *
 * A release has the time of its entry, an allocation that of its return: between the two of a release another thread may
 * get the same address.
 */
#ifndef GPUPROBE_BPF_ALLOCATION_H
#define GPUPROBE_BPF_ALLOCATION_H

#include "maps.h"
#include "arguments.h"
#include "emit.h"
#include "price.h"
#include "threads.h"

/* What the accounts of a process are drawn as. */
static __always_inline bool allocation_tell_device(u64 pid_tgid)
{
	struct record_device device = {};

	fill_header(&device.header, sizeof(device), KIND_device, bpf_ktime_get_ns(), 0, pid_tgid,
		    device_name);
	device.header.tid = 0;
	device.id = pid_tgid >> 32;
	device.number = device_number;
	device.compute_minor = ~0U;
	return try_emit(&device.header, sizeof(device));
}

/* NULL: nothing of this thread counts, or (counted) it can't. */
static __always_inline struct allocating *allocating_get(struct task_struct *task, u64 pid_tgid)
{
	struct allocating *call = bpf_task_storage_get(&allocating, task, 0, 0);
	u32 pid = pid_tgid >> 32;

	if (!call && bpf_map_lookup_elem(&accounted_by_agent, &pid))
		return NULL;
	if (!call)
		call = bpf_task_storage_get(&allocating, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call)
		count_loss(VALUE_loss_reason_allocation_unseen);
	else if (!call->device_told)
		call->device_told = allocation_tell_device(pid_tgid);
	return call;
}

/* Does the thread, now at the entry of a function at sp, still have it open? */
static __always_inline bool allocating_is_open(const struct allocating *call,
					       struct task_struct *task, u64 sp)
{
	u64 slot = 0;

	if (!call->probe || call->sp <= sp ||
	    bpf_probe_read_user(&slot, sizeof(slot), (void *)call->sp))
		return false;
	return slot == call->return_address || slot == arch_trampoline(task);
}

/* The release is taken for done already: when it is done, another thread may have the address. */
static __always_inline void allocating_release(struct allocating *call, u32 pid)
{
	struct allocation_key key = {call->released, pid};
	struct allocation *found = bpf_map_lookup_elem(&allocations, &key);

	call->released_memory = found ? found->memory : 0;
	call->released_bytes = found ? found->bytes : ~0ULL;
	if (found)
		bpf_map_delete_elem(&allocations, &key);
}

static __always_inline void allocation_note_call(struct pt_regs *registers, u32 probe, u64 sp)
{
	const struct allocator *row = bpf_map_lookup_elem(&allocators, &probe);
	struct task_struct *task = bpf_get_current_task_btf();
	u64 pid_tgid = (u64)task->tgid << 32 | (u32)task->pid;
	struct allocating *call;

	if (!row)
		return;
	call = allocating_get(task, pid_tgid);
	if (!call || allocating_is_open(call, task, sp))
		return;
	call->sp = sp;
	call->return_address = 0;
	bpf_probe_read_user(&call->return_address, sizeof(call->return_address), (void *)sp);
	call->ts = bpf_ktime_get_ns();
	call->address_at = allocation_argument(registers, sp, row->address);
	call->bytes = allocation_argument(registers, sp, row->bytes);
	call->pool = allocation_argument(registers, sp, row->pool);
	call->released = allocation_argument(registers, sp, row->released);
	call->factor = 1;
	for (u32 i = 0; i < ALLOCATOR_FACTORS; i++)
		if (row->factors[i])
			call->factor *= allocation_argument(registers, sp, row->factors[i]);
	if (call->released)
		allocating_release(call, task->tgid);
	call->probe = probe;
}

/* At the entry of a function of the table; sp: at its first instruction. */
static __noinline int allocation_begin(struct pt_regs *registers, u32 probe, u64 sp)
{
	u64 begin_ns = price_begin(PRICE_GPU_MEMORY);

	price_count(PRICE_GPU_MEMORY);
	allocation_note_call(registers, probe, sp);
	price_end(PRICE_GPU_MEMORY, begin_ns);
	return 0;
}

static __always_inline void allocation_emit(const struct allocating *call,
					    const struct allocator *row, u64 pid_tgid, u64 address)
{
	struct record_gpu_memory record = {};
	bool release = !address;

	fill_header(&record.header, sizeof(record), KIND_gpu_memory,
		    release ? call->ts : bpf_ktime_get_ns(), 0, pid_tgid, call->probe);
	record.device = pid_tgid >> 32;
	record.context = record.stream = ~0U;
	record.address = release ? call->released : address;
	record.bytes = release ? call->released_bytes : call->bytes;
	record.pool = call->pool;
	record.pool_bytes = record.pool_used_bytes = ~0ULL;
	record.operation =
		release ? VALUE_memory_operation_release : VALUE_memory_operation_allocate;
	record.memory = release ? call->released_memory : row->memory;
	record.async = row->async;
	emit(&record.header, sizeof(record));
}

static __always_inline bool allocation_succeeded(const struct allocator *row, u64 result)
{
	if (row->success == ALLOCATOR_ZERO)
		return !(u32)result;
	return row->success == ALLOCATOR_ALWAYS || result;
}

/* The new address; 0: nothing was allocated. False: it can't be read. */
static __always_inline bool allocation_read(struct allocating *call, const struct allocator *row,
					    u64 result, u64 *ret_address)
{
	u64 value = 0;

	if (row->success == ALLOCATOR_ADDRESS)
		*ret_address = result;
	else if (row->address && bpf_probe_read_user(ret_address, sizeof(*ret_address),
						     (void *)call->address_at))
		return false;
	if (row->bytes_written) {
		if (bpf_probe_read_user(&value, sizeof(value),
					(void *)(call->bytes + row->bytes_written - 1)))
			return false;
		call->bytes = value;
	}
	call->bytes *= call->factor;
	return true;
}

static __always_inline void allocation_note(const struct allocating *call,
					    const struct allocator *row, u32 pid, u64 address)
{
	struct allocation_key key = {address, pid};
	struct allocation allocation = {call->bytes, row->memory};

	if (bpf_map_update_elem(&allocations, &key, &allocation, BPF_ANY))
		count_loss(VALUE_loss_reason_allocations_capped);
}

/* It failed: what it was to give back is still there. */
static __always_inline void allocation_restore(const struct allocating *call, u32 pid)
{
	struct allocation_key key = {call->released, pid};
	struct allocation allocation = {call->released_bytes, call->released_memory};

	if (call->released && call->released_bytes != ~0ULL)
		bpf_map_update_elem(&allocations, &key, &allocation, BPF_NOEXIST);
}

static __always_inline struct allocating *allocating_find(struct task_struct *task, u32 probe, u64 sp)
{
	struct allocating *call = bpf_task_storage_get(&allocating, task, 0, 0);

	return call && call->probe == probe && call->sp == sp ? call : NULL;
}

static __always_inline void allocation_note_end(struct pt_regs *registers, u32 probe, u64 sp)
{
	const struct allocator *row = bpf_map_lookup_elem(&allocators, &probe);
	struct task_struct *task = bpf_get_current_task_btf();
	u64 pid_tgid = (u64)task->tgid << 32 | (u32)task->pid, address = 0;
	struct allocating *call = allocating_find(task, probe, sp);

	if (!row || !call)
		return;
	call->probe = 0;
	if (!allocation_succeeded(row, arch_result(registers))) {
		allocation_restore(call, task->tgid);
		return;
	}
	call->probe = probe; /* the record's name */
	if (call->released)
		allocation_emit(call, row, pid_tgid, 0);
	if (!allocation_read(call, row, arch_result(registers), &address)) {
		count_loss(VALUE_loss_reason_allocation_unseen);
	} else if (address) {
		allocation_note(call, row, task->tgid, address);
		allocation_emit(call, row, pid_tgid, address);
	}
	call->probe = 0;
}

/* At its return; sp: as at its first instruction. */
static __noinline int allocation_end(struct pt_regs *registers, u32 probe, u64 sp)
{
	u64 begin_ns = price_begin(PRICE_GPU_MEMORY);

	allocation_note_end(registers, probe, sp);
	price_end(PRICE_GPU_MEMORY, begin_ns);
	return 0;
}

/* It is left by a jump to another function, which will return in its place: unless that is one of the table, the result
 * is nowhere to be seen. */
static __always_inline void allocation_jumped(u32 probe, u64 sp)
{
	struct allocating *call = allocating_find(bpf_get_current_task_btf(), probe, sp);

	if (!call)
		return;
	call->probe = 0;
	count_loss(VALUE_loss_reason_allocation_unseen);
}

/* Is it one of the table? */
static __always_inline bool is_allocator(u64 cookie)
{
	return keeps_accounts && cookie & COOKIE_ALLOCATOR;
}

/* Of a call whose return is not taken. */
static __always_inline void allocation_unseen(u64 cookie, u32 pid)
{
	if (is_allocator(cookie) && !bpf_map_lookup_elem(&accounted_by_agent, &pid))
		count_loss(VALUE_loss_reason_allocation_unseen);
}

#endif
