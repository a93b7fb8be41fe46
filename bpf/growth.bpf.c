/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the memory of targets grows: calls that change the size of an address space, and page faults with the memory that
 * the kernel takes for them, summed by stack. Neither costs a system call or a fault of anybody else more than a look at
 * who it is. (Tracepoints of system calls would slow down every system call of the machine.)
 *
 * From 7.0 on the kernel lets the programs of such tracepoints be preempted, and leaves out the same program for whatever
 * else comes to it on that CPU meanwhile: preemption is off while they work for a target.
 */
#include "price.h"
#include "stacks.h"
#include "arch_x86_64.h"
#include "kernel_workers.h"
#define PREEMPTION_FLAVOUR growth
#include "preemption.h"

#define MAPPINGS_OPEN_MAX 4096

/* What is done at most within a second of a CPU, so that a program that does nothing but fault is not slowed down much. */
#define INTERVAL_NS	     1000000000
#define STACKS_AN_INTERVAL   10000
#define MAPPINGS_AN_INTERVAL 1000
/* Beyond that, one in so many faults has its stack taken. */
#define FAULTS_A_STACK 16

/* ___GFP_MOVABLE: pages of processes and of files; the kernel's own are not. */
#define ALLOCATION_MOVABLE 0x8

struct interval {
	u64 start_ns;
	u32 count;
};

/* The last fault of this CPU. */
struct faulting {
	struct growth_key key;
	struct interval stacks;
	u32 tid;
	u32 grouped;
	bool in_kernel; /* the kernel touched memory of the thread, in a system call */
	bool took;	/* memory came for it */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct faulting);
} growth_faulting SEC(".maps");

struct mapping_limits {
	struct interval stacks, records;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct mapping_limits);
} growth_limits SEC(".maps");

/* Its address space when a thread got the right to change it. */
struct address_space {
	u64 pages;
	u64 for_probes; /* tells what the kernel has mapped there for probes from what it had before */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAPPINGS_OPEN_MAX);
	__type(key, u32); /* tid as the host sees it */
	__type(value, struct address_space);
} growth_open SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GROWTHS_MAX);
	__type(key, struct growth_key);
	__type(value, struct growth_sums);
} growths SEC(".maps");

/* Of the programs of this file none interrupts another one here: a fault while a stack is taken is none that is served. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_scratch);
} growth_scratch SEC(".maps");

/* What follows is for a target. The time for work_ends(). */
static __always_inline u64 work_begins(void)
{
	preemption_off();
	return price_begin(PRICE_GROWTH);
}

static __always_inline void work_ends(u64 begin_ns)
{
	price_end(PRICE_GROWTH, begin_ns);
	preemption_on();
}

/* False: there were as many in this interval already. */
static __always_inline bool interval_has_room(struct interval *interval, u32 most)
{
	u64 now = bpf_ktime_get_ns();

	if (now - interval->start_ns >= INTERVAL_NS) {
		interval->start_ns = now;
		interval->count = 0;
	}
	if (interval->count >= most)
		return false;
	interval->count++;
	return true;
}

static __always_inline u32 stack_of_current(void *context, u64 pid_tgid)
{
	u32 zero = 0;
	struct stack_scratch *scratch = bpf_map_lookup_elem(&growth_scratch, &zero);

	return scratch ? stack_take(context, scratch, pid_tgid) : 0;
}

static __always_inline struct growth_sums *sums_find(const struct growth_key *key)
{
	struct growth_sums *sums = bpf_map_lookup_elem(&growths, key), none = {};

	if (sums)
		return sums;
	bpf_map_update_elem(&growths, key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&growths, key);
}

/* NULL: there is no room, and it is counted. */
static __always_inline struct growth_sums *sums_get(struct growth_key *key)
{
	struct growth_sums *sums = sums_find(key);

	if (sums)
		return sums;
	count_loss(VALUE_loss_reason_growth_full);
	key->stack = 0;
	return sums_find(key);
}

/* ---- the address space ---- */

/* The kernel maps a page into a process for probes on it, at the first hit, at most one at a time. */
static __always_inline struct address_space address_space_of(struct mm_struct *mm)
{
	struct address_space space = {mm->total_vm, (u64)BPF_CORE_READ(mm, uprobes_state.xol_area)};

	/* Read as numbers: of pointers the verifier lets nobody make a sum. */
	if (bpf_core_field_exists(mm->uprobes_state.head_tramps))
		space.for_probes += (u64)BPF_CORE_READ(mm, uprobes_state.head_tramps.first);
	return space;
}

/* Who may change an address space holds its lock: nobody else changes its size until the lock is given back. */
static __always_inline int mapping_begins(struct mm_struct *mm, bool write, bool success)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tid = task->pid;
	struct address_space space;
	u64 begin_ns;

	if (!write || !success || !window_open || task->mm != mm ||
	    !is_target_thread(task->tgid, task->pid))
		return 0;
	space = address_space_of(mm);
	begin_ns = work_begins();
	price_count(PRICE_GROWTH);
	if (bpf_map_update_elem(&growth_open, &tid, &space, BPF_ANY))
		count_loss(VALUE_loss_reason_growth_full);
	work_ends(begin_ns);
	return 0;
}

SEC("tp_btf/mmap_lock_acquire_returned")
int mapping_locked(u64 *context)
{
	return mapping_begins((void *)context[0], context[1], context[2]);
}

/* Before 6.13 the tracepoint tells the name of the cgroup too. */
SEC("tp_btf/mmap_lock_acquire_returned")
int mapping_locked_named(u64 *context)
{
	return mapping_begins((void *)context[0], context[2], context[3]);
}

static __always_inline u32 mapping_name(struct task_struct *task)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	u64 number = arch_system_call(registers);

	/* A stack grows by a fault. */
	if (!is_in_system_call(task) || number >= SYSTEM_CALLS_MAX)
		return TEXT_PAGE_FAULT;
	return TEXT_SYSTEM_CALL + number;
}

static __always_inline void mapping_send(const struct growth_key *key, u64 pid_tgid, s64 bytes,
					 u64 mapped_bytes)
{
	struct record_mapping record = {.bytes = bytes, .mapped_bytes = mapped_bytes};

	fill_header(&record.header, sizeof(record), KIND_mapping, bpf_ktime_get_ns(), 0, pid_tgid,
		    key->name);
	record.header.stack = key->stack;
	emit(&record.header, sizeof(record));
}

static __always_inline void mapping_add(void *context, struct task_struct *task, s64 bytes,
					u64 mapped_bytes)
{
	u64 pid_tgid = (u64)task->tgid << 32 | (u32)task->pid;
	struct growth_key key = {.pid = task->tgid, .name = mapping_name(task)};
	struct growth_sums *sums;
	u32 zero = 0;
	struct mapping_limits *limits = bpf_map_lookup_elem(&growth_limits, &zero);

	if (!limits)
		return;
	if (interval_has_room(&limits->stacks, STACKS_AN_INTERVAL))
		key.stack = stack_of_current(context, pid_tgid);
	if (interval_has_room(&limits->records, MAPPINGS_AN_INTERVAL))
		mapping_send(&key, pid_tgid, bytes, mapped_bytes);
	else
		count_loss(VALUE_loss_reason_mappings_summed);
	sums = sums_get(&key);
	if (!sums)
		return;
	if (bytes > 0) {
		__sync_fetch_and_add(&sums->maps, 1);
		__sync_fetch_and_add(&sums->mapped_bytes, bytes);
	} else {
		__sync_fetch_and_add(&sums->unmaps, 1);
		__sync_fetch_and_add(&sums->unmapped_bytes, -bytes);
	}
}

static __always_inline void mapping_ends(void *context, struct task_struct *task,
					 struct mm_struct *mm)
{
	struct address_space *found, before, now;
	u32 tid = task->pid;
	u64 pages;

	found = bpf_map_lookup_elem(&growth_open, &tid);
	if (!found)
		return;
	before = *found;
	bpf_map_delete_elem(&growth_open, &tid);
	now = address_space_of(mm);
	pages = now.pages - (now.for_probes != before.for_probes);
	if (window_open && pages != before.pages)
		mapping_add(context, task, ((s64)pages - (s64)before.pages) * ARCH_PAGE_BYTES,
			    now.pages * ARCH_PAGE_BYTES);
}

/* Before it is given back. Where munmap goes on as one of several readers before it is done, no writer comes in between. */
SEC("tp_btf/mmap_lock_released")
int mapping_unlocked(u64 *context)
{
	struct mm_struct *mm = (void *)context[0];
	struct task_struct *task = bpf_get_current_task_btf();
	u64 begin_ns;

	if (task->mm != mm || !is_target_thread(task->tgid, task->pid))
		return 0;
	begin_ns = work_begins();
	mapping_ends(context, task, mm);
	work_ends(begin_ns);
	return 0;
}

/* ---- page faults ---- */

static __always_inline bool fault_has_stack(struct faulting *faulting, u32 pid)
{
	if (faulting->key.pid == pid && !interval_has_room(&faulting->stacks, STACKS_AN_INTERVAL) &&
	    ++faulting->grouped % FAULTS_A_STACK)
		return false;
	return true;
}

static __always_inline void fault_add(void *context, bool in_kernel)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	u32 pid = pid_tgid >> 32, zero = 0;
	struct faulting *faulting = bpf_map_lookup_elem(&growth_faulting, &zero);
	struct growth_key key = {.pid = pid, .name = TEXT_PAGE_FAULT};
	struct growth_sums *sums;

	if (!faulting)
		return;
	price_count(PRICE_GROWTH);
	if (fault_has_stack(faulting, pid)) {
		key.stack = stack_of_current(context, pid_tgid);
	} else {
		key.stack = faulting->key.stack;
		count_loss(VALUE_loss_reason_faults_grouped);
	}
	sums = sums_get(&key);
	faulting->key = key;
	faulting->tid = (u32)pid_tgid;
	faulting->in_kernel = in_kernel;
	faulting->took = false;
	if (sums)
		__sync_fetch_and_add(&sums->faults, 1);
}

/* In the page in which the kernel executes what a probe displaced. */
static __always_inline bool is_for_probes(u64 address)
{
	u64 page = arch_trampoline(bpf_get_current_task_btf());

	return page && address / ARCH_PAGE_BYTES == page / ARCH_PAGE_BYTES;
}

SEC("tp_btf/page_fault_user")
int fault_in_user(u64 *context)
{
	u64 pid_tgid = bpf_get_current_pid_tgid(), begin_ns;

	if (!window_open || !is_target_thread(pid_tgid >> 32, (u32)pid_tgid))
		return 0;
	begin_ns = work_begins();
	if (!is_for_probes(context[0]))
		fault_add(context, false);
	work_ends(begin_ns);
	return 0;
}

/* The kernel touches memory of the thread for it. What it may not wait for is not served, and no growth. */
SEC("tp_btf/page_fault_kernel")
int fault_in_kernel(u64 *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 begin_ns;

	if (!window_open || context[0] >= ARCH_USER_ADDRESS_END || task->pagefault_disabled ||
	    !is_target_thread(task->tgid, task->pid))
		return 0;
	begin_ns = work_begins();
	fault_add(context, true);
	work_ends(begin_ns);
	return 0;
}

/* Is the memory for the fault of the thread that this CPU saw last? */
static __always_inline bool is_for_fault(struct faulting *faulting, struct task_struct *task)
{
	if (faulting->tid != (u32)task->pid)
		return false;
	/* In a system call pages of files come too: of them the first one after the fault is its own. */
	if (faulting->in_kernel && faulting->took)
		return false;
	return faulting->in_kernel || !is_in_system_call(task);
}

static __always_inline void memory_add(struct task_struct *task, u64 bytes)
{
	u32 zero = 0;
	struct faulting *faulting = bpf_map_lookup_elem(&growth_faulting, &zero);
	struct growth_sums *sums;
	struct growth_key key;

	if (!faulting || !is_for_fault(faulting, task))
		return;
	faulting->took = true;
	key = faulting->key;
	sums = sums_get(&key);
	if (sums)
		__sync_fetch_and_add(&sums->faulted_bytes, bytes);
}

SEC("tp_btf/mm_page_alloc")
int memory_taken(u64 *context)
{
	struct task_struct *task;
	u64 begin_ns;

	if (!(context[2] & ALLOCATION_MOVABLE) || !context[0] || !window_open)
		return 0;
	task = bpf_get_current_task_btf();
	if (!is_target_thread(task->tgid, task->pid))
		return 0;
	begin_ns = work_begins();
	memory_add(task, (u64)ARCH_PAGE_BYTES << context[1]);
	work_ends(begin_ns);
	return 0;
}
