/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations of host memory, summed by stack: probes on the functions of plan/heap_functions.def.
 *
 * - heap_session: by the return address, of functions that nobody can unwind or switch stacks through.
 * - heap_entry: at entries; of frees there is nothing else to see, of others the exits are probed too.
 * - heap_exit: at the exits; the kernel single-steps the instruction.
 * - *_emulated: the same where a program may set registers (6.19): they do the instruction themselves.
 * - heap_exec: a process that executes another program has lost what it had allocated.
 *
 * Of functions that call each other the outermost counts: what is open is one call a thread. Nothing is sent for a call, but
 * with heap_events. A release has the time of its entry, an allocation that of its return: in between another thread may
 * get the same address.
 *
 * Allocations inside operator new are those of its caller: only its entry is probed (it may throw), and kept until the next
 * allocation inside it has succeeded.
 */
#include "arguments.h"
#include "heap_sums.h"
#include "hits.h"
#define PREEMPTION_FLAVOUR heap
#include "preemption.h"
#include "session_return.h"

#define TAKE_RETURN  0
#define LEAVE_RETURN 1

/* Every allocation and release is a record. Set by userspace before loading. */
const volatile bool heap_events;

/* ---- records ---- */

static __always_inline void tell_allocation(const struct heap_thread *thread, u64 pid_tgid,
					    const struct heap_block *block, u64 address)
{
	const struct heap_site *site = bpf_map_lookup_elem(&heap_sites, &thread->site);
	struct record_allocation record = {};

	fill_header(&record.header, sizeof(record), KIND_allocation, block->ts, 0, pid_tgid,
		    TEXT_HEAP_FUNCTION + thread->probe);
	record.header.stack = site ? site->stack : 0;
	record.address = address;
	record.bytes = block->bytes;
	emit(&record.header, sizeof(record));
}

static __always_inline void tell_release(u64 pid_tgid, u32 probe, u64 ts, u64 address, u64 bytes)
{
	struct record_release record = {};

	fill_header(&record.header, sizeof(record), KIND_release, ts, 0, pid_tgid,
		    TEXT_HEAP_FUNCTION + probe);
	record.address = address;
	record.bytes = bytes;
	emit(&record.header, sizeof(record));
}

/* ---- releases ---- */

static __always_inline void count_release(struct heap_process *process, bool known, u64 bytes)
{
	if (!known) {
		ADD(process->foreign_frees, 1);
		return;
	}
	ADD(process->freed_calls, 1);
	ADD(process->freed_bytes, bytes);
}

/* Of functions that release alone. operator delete calls free: of memory that this thread has released last, by another
 * function, and that was not allocated again, there is nothing more to release. */
static __always_inline void release(struct heap_thread *thread, u64 pid_tgid, u32 probe,
				    u64 address)
{
	struct heap_process *process = process_get(pid_tgid >> 32);
	struct heap_block block = {};
	bool known;

	if (!process || !address)
		return;
	known = block_take(process, pid_tgid >> 32, address, &block);
	if (!known && thread->released == address && thread->released_probe != probe)
		return;
	thread->released = address;
	thread->released_probe = probe;
	count_release(process, known, block.bytes);
	if (heap_events)
		tell_release(pid_tgid, probe, bpf_ktime_get_ns(), address,
			     known ? block.bytes : ~0ULL);
}

/* ---- calls ---- */

/* Has the thread, now at the entry of a function at sp, its call still open? Where it has the same sp the one has jumped to
 * the other, if the return address is the kernel's still, or else if they are different. */
static __always_inline bool call_is_open(const struct heap_thread *thread, struct task_struct *task,
					 u32 probe, u64 sp)
{
	u64 slot = 0;

	if (!thread->probe || thread->sp < sp ||
	    bpf_probe_read_user(&slot, sizeof(slot), (void *)thread->sp))
		return false;
	if (slot == arch_trampoline(task))
		return true;
	return slot == thread->return_address && (thread->sp > sp || thread->probe != probe);
}

static __always_inline bool place_is_open(const struct heap_thread *thread, u64 sp)
{
	u64 slot = 0;

	return thread->place_sp > sp &&
	       !bpf_probe_read_user(&slot, sizeof(slot), (void *)thread->place_sp) &&
	       slot == thread->place_return;
}

/* What is open will not be seen to end. What it was to give back is taken for released. */
static __always_inline void call_forget(struct heap_thread *thread, u32 pid)
{
	struct heap_process *process = process_get(pid);

	count_loss(VALUE_loss_reason_heap_result_unseen);
	if (process && thread->old)
		count_release(process, thread->old_known, thread->old_block.bytes);
	thread->probe = 0;
}

/* The kernel keeps its list of overwritten return addresses by stack pointer: with one on a lower stack that is still to
 * return, one more up here would make it forget that. */
static __always_inline bool may_overwrite(const struct task_struct *task, u64 sp)
{
	const struct uprobe_task *known = task->utask;
	const struct return_instance *innermost;

	if (!known)
		return true;
	innermost = known->return_instances;
	return !innermost || innermost->stack >= sp;
}

static __always_inline void call_begin(struct pt_regs *registers, struct heap_thread *thread,
				       const struct allocator *row, u64 pid_tgid, u32 probe, u64 sp)
{
	struct heap_process *process = process_get(pid_tgid >> 32);

	thread->site = place_is_open(thread, sp) ? thread->place_site : site_take(registers, sp);
	thread->sp = sp;
	thread->return_address = 0;
	bpf_probe_read_user(&thread->return_address, sizeof(thread->return_address), (void *)sp);
	thread->address_at = allocation_argument(registers, sp, row->address);
	thread->bytes = allocation_argument(registers, sp, row->bytes);
	if (row->factors[0])
		thread->bytes *= allocation_argument(registers, sp, row->factors[0]);
	thread->old = allocation_argument(registers, sp, row->released);
	if (heap_events)
		thread->ts = bpf_ktime_get_ns();
	thread->old_known = thread->old && process &&
			    block_take(process, pid_tgid >> 32, thread->old, &thread->old_block);
	thread->probe = probe;
}

static __always_inline void call_release_old(struct heap_thread *thread,
					     struct heap_process *process, u64 pid_tgid)
{
	if (!thread->old)
		return;
	count_release(process, thread->old_known, thread->old_block.bytes);
	thread->released = thread->old;
	thread->released_probe = thread->probe;
	if (heap_events)
		tell_release(pid_tgid, thread->probe, thread->ts, thread->old,
			     thread->old_known ? thread->old_block.bytes : ~0ULL);
}

/* realloc(p, 0) may give nothing back and have freed p. */
static __always_inline void call_failed(struct heap_thread *thread, struct heap_process *process,
					u64 pid_tgid)
{
	struct heap_site *site = bpf_map_lookup_elem(&heap_sites, &thread->site);

	if (!thread->bytes) {
		call_release_old(thread, process, pid_tgid);
		return;
	}
	ADD(process->failed_calls, 1);
	if (site)
		ADD(site->failed_calls, 1);
	if (thread->old_known)
		block_put(process, pid_tgid >> 32, thread->old, &thread->old_block);
}

static __always_inline void call_succeeded(struct heap_thread *thread, struct heap_process *process,
					   u64 pid_tgid, u64 address)
{
	struct heap_site *site = bpf_map_lookup_elem(&heap_sites, &thread->site);
	struct heap_block block = {
		.bytes = thread->bytes, .ts = bpf_ktime_get_ns(), .site = thread->site};

	call_release_old(thread, process, pid_tgid);
	thread->place_sp = 0;
	ADD(process->calls, 1);
	ADD(process->bytes, block.bytes);
	if (site) {
		ADD(site->calls, 1);
		ADD(site->bytes, block.bytes);
		raise_to(&site->largest_bytes, block.bytes);
	}
	if (heap_events)
		tell_allocation(thread, pid_tgid, &block, address);
	block_put(process, pid_tgid >> 32, address, &block);
}

#define STRING_PART_BYTES 64
#define STRING_PARTS_MAX  (1U << 20) /* 63 MB */

struct string_length {
	u64 address, bytes;
};

static long string_part(u32 index, struct string_length *length)
{
	char part[STRING_PART_BYTES];
	long got = bpf_probe_read_user_str(part, sizeof(part),
					   (void *)(length->address + length->bytes));

	/* Its zero is always there, read or put behind what was. */
	if (got <= 0)
		return 1;
	length->bytes += got - 1;
	return got < STRING_PART_BYTES;
}

/* Of the copy, which was written a moment ago; of the string it is made of there may be parts still to be read from a disk. */
static __always_inline u64 string_bytes(u64 address)
{
	struct string_length length = {.address = address};

	bpf_loop(STRING_PARTS_MAX, string_part, &length, 0);
	return length.bytes + 1;
}

static __always_inline void call_end(struct heap_thread *thread, u64 pid_tgid, u64 result)
{
	const struct heap_function *function = bpf_map_lookup_elem(&heap_functions, &thread->probe);
	struct heap_process *process = process_get(pid_tgid >> 32);
	u64 address = result;

	if (function && process) {
		if (function->row.success == ALLOCATOR_ZERO) {
			address = 0;
			if (!(u32)result)
				bpf_probe_read_user(&address, sizeof(address),
						    (void *)thread->address_at);
		}
		if (function->row.string && address)
			thread->bytes = string_bytes(address);
		if (address)
			call_succeeded(thread, process, pid_tgid, address);
		else
			call_failed(thread, process, pid_tgid);
	}
	thread->probe = 0;
}

/* ---- programs ---- */

/* NULL: it is not ours to count. */
static __always_inline struct heap_thread *thread_get(struct task_struct *task, u64 cookie)
{
	struct heap_thread *thread = bpf_task_storage_get(&heap_threads, task, 0, 0);

	if (!place_hit(cookie, thread, task->tgid, PRICE_HEAP))
		return NULL;
	if (!thread)
		thread = bpf_task_storage_get(&heap_threads, task, 0,
					      BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		count_loss(VALUE_loss_reason_heap_result_unseen);
	return thread;
}

/* One form of operator new calls another. */
static __always_inline int place_begin(struct pt_regs *registers, struct heap_thread *thread,
				       u64 sp)
{
	if (place_is_open(thread, sp))
		return LEAVE_RETURN;
	thread->place_site = site_take(registers, sp);
	thread->place_return = 0;
	bpf_probe_read_user(&thread->place_return, sizeof(thread->place_return), (void *)sp);
	thread->place_sp = sp;
	return LEAVE_RETURN;
}

/* LEAVE_RETURN: there is no return to wait for. */
static __always_inline int thread_hit(struct pt_regs *registers, struct heap_thread *thread,
				      const struct heap_function *function, u32 probe, u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 pid_tgid = task_pid_tgid(task);

	if (call_is_open(thread, task, probe, sp))
		return LEAVE_RETURN;
	if (thread->probe)
		call_forget(thread, task->tgid);
	if (!function->row.bytes) {
		release(thread, pid_tgid, probe,
			allocation_argument(registers, sp, function->row.released));
		return LEAVE_RETURN;
	}
	if (!function->result_seen && function->row.place)
		return place_begin(registers, thread, sp);
	call_begin(registers, thread, &function->row, pid_tgid, probe, sp);
	if (function->result_seen && (!function->by_address || may_overwrite(task, sp)))
		return TAKE_RETURN;
	call_forget(thread, task->tgid);
	return LEAVE_RETURN;
}

/* Threads of ours allocate and release for themselves, but a worker of CUPTI also what a call in a thread of the target had
 * allocated: of that nothing more is live. */
static __always_inline void released_by_us(struct pt_regs *registers,
					   const struct heap_function *function, u64 sp)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct heap_process *process = bpf_map_lookup_elem(&heap_processes, &pid);
	u64 address = allocation_argument(registers, sp, function->row.released);
	struct heap_block block;

	if (process && address && block_take(process, pid, address, &block))
		count_release(process, true, block.bytes);
}

/* The same. */
static __noinline int begin_hit(struct pt_regs *registers)
{
	u64 cookie = bpf_get_attach_cookie(registers), sp = arch_entry_sp(registers), begin_ns;
	const struct entry_site *site = entry_site_find(cookie);
	u32 probe = cookie & COOKIE_PROBE_MASK;
	const struct heap_function *function = bpf_map_lookup_elem(&heap_functions, &probe);
	struct heap_thread *thread = thread_get(bpf_get_current_task_btf(), cookie);
	int result;

	if (site)
		sp += site->stack_bytes;
	if (function && window_open && is_own_thread((u32)bpf_get_current_pid_tgid()))
		released_by_us(registers, function, sp);
	if (!function || !thread)
		return LEAVE_RETURN;
	begin_ns = price_begin(PRICE_HEAP);
	result = thread_hit(registers, thread, function, probe, sp);
	price_end(PRICE_HEAP, begin_ns);
	return result;
}

/* sp: where the return address lies, or lay. */
static __always_inline void end_hit(u64 cookie, u64 sp, u64 result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct heap_thread *thread = bpf_task_storage_get(&heap_threads, task, 0, 0);
	struct counters *mine = counters_get();
	u64 begin_ns;

	/* After the window nothing changes any more. */
	if (!window_open || !mine || !thread)
		return;
	if (cookie_site_kind(cookie) == COOKIE_SITE_OTHER ||
	    cookie_site_kind(cookie) == COOKIE_SITE_DESCRIBED)
		mine->prices[PRICE_HEAP].returns++;
	else if (cookie & COOKIE_STEPPED)
		mine->prices[PRICE_HEAP].stepped_exits++;
	else
		mine->prices[PRICE_HEAP].exits++;
	begin_ns = price_begin(PRICE_HEAP);
	if (thread->probe && thread->sp == sp)
		call_end(thread, task_pid_tgid(task), result);
	price_end(PRICE_HEAP, begin_ns);
}

static __noinline int session_hit(struct pt_regs *registers)
{
	if (!session_is_return(registers))
		return begin_hit(registers);
	end_hit(bpf_get_attach_cookie(registers), arch_entry_sp_at_return(registers),
		arch_result(registers));
	return 0;
}

SEC("uprobe.multi")
int heap_session(struct pt_regs *registers)
{
	int result;

	preemption_off();
	result = session_hit(registers);
	preemption_on();
	return result;
}

SEC("uprobe.multi")
int heap_session_emulated(struct pt_regs *registers)
{
	int result;

	preemption_off();
	result = session_hit(registers);
	if (!session_is_return(registers))
		entry_displace(registers);
	preemption_on();
	return result;
}

SEC("uprobe.multi")
int heap_entry(struct pt_regs *registers)
{
	preemption_off();
	begin_hit(registers);
	preemption_on();
	return 0;
}

SEC("uprobe.multi")
int heap_entry_emulated(struct pt_regs *registers)
{
	preemption_off();
	begin_hit(registers);
	entry_displace(registers);
	preemption_on();
	return 0;
}

/* True when the instruction is still to be done. The jumps that are probed lead to what gives back its first argument; any other
 * leaves the call open: another one of ours returns in its place, or nobody that is seen. */
static __noinline int exit_hit(struct pt_regs *registers)
{
	u64 cookie = bpf_get_attach_cookie(registers), sp = arch_entry_sp(registers);
	bool still_to_do = arch_ip_is_at(registers, cookie >> COOKIE_ADDRESS_SHIFT);
	u32 kind = cookie_site_kind(cookie);

	if (kind == COOKIE_SITE_RETURN || kind == COOKIE_SITE_RETURN_EMULATED)
		end_hit(cookie, still_to_do ? sp : sp - 8 - (cookie >> COOKIE_POPPED_SHIFT) * 8,
			arch_result(registers));
	else if (kind == COOKIE_SITE_JUMP)
		end_hit(cookie, sp, arch_argument(registers, 1));
	return still_to_do;
}

SEC("uprobe.multi")
int heap_exit(struct pt_regs *registers)
{
	preemption_off();
	exit_hit(registers);
	preemption_on();
	return 0;
}

/* See sites_return_emulated() of function_sites.bpf.c. */
SEC("uprobe.multi")
int heap_exit_emulated(struct pt_regs *registers)
{
	u64 cookie = bpf_get_attach_cookie(registers);
	bool still_to_do;

	preemption_off();
	still_to_do = exit_hit(registers);
	preemption_on();
	if (!still_to_do || arch_has_shadow_stack(bpf_get_current_task_btf()))
		return 0;
	if (cookie_site_kind(cookie) == COOKIE_SITE_RETURN_EMULATED)
		arch_emulate_return(registers, 8 + (cookie >> COOKIE_POPPED_SHIFT) * 8);
	else if (cookie_site_kind(cookie) == COOKIE_SITE_JUMP_EMULATED)
		arch_emulate_jump(registers, cookie_detail(cookie));
	return 0;
}

SEC("tp_btf/sched_process_exec")
int heap_exec(void *context)
{
	u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct heap_process *process = bpf_map_lookup_elem(&heap_processes, &pid);
	struct heap_thread *thread =
		bpf_task_storage_get(&heap_threads, bpf_get_current_task_btf(), 0, 0);

	if (thread)
		thread->probe = thread->place_sp = 0;
	if (!process || !window_open)
		return 0;
	process->generation++;
	process->live_calls = process->live_bytes = 0;
	return 0;
}
