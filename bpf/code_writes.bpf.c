/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets that change code of their own in which there are probes. The kernel would put its breakpoints back, over what was
 * written, at a later change of that mapping (docs/uprobes.md), so userspace takes the probes out before. It is told by whom
 * the lock of the address space was taken, and for which system call, as growth.bpf.c is. Where the kernel lets a program do work
 * on a thread's way back to user mode (6.18), the thread waits there until that is done: no signal, nothing that anybody sees.
 */
#include "maps.h"
#include "emit.h"
#include "arch_x86_64.h"
#include "kernel_workers.h"
#define PREEMPTION_FLAVOUR code_writes
#include "preemption.h"

#define ERRNO_MAX	  4096
#define PROC_SUPER_MAGIC  0x9fa0
#define SIGNAL_GROUP_EXIT 4
#define PROT_WRITE	  2
#define PROT_EXEC	  4
#define MAP_FIXED	  0x10
#define MAP_ANONYMOUS	  0x20
#define MAP_FIXED_NEW	  0x100000 /* never over anything */
#define MREMAP_FIXED	  2
#define HOLDS_MAX	  4096
#define HOLD_LOOKS_MAX	  (1 << 20)
#define HOLD_TURN_NS	  200000
#define SEARCH_TURNS	  9 /* 2^8 ranges */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CODE_PATCHERS_MAX);
	__type(key, u32);
	__type(value, struct code_patcher);
} code_patchers SEC(".maps");

/* Numbers of inodes of files that are probed. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CODE_FILES_MAX);
	__type(key, u64);
	__type(value, u32);
} code_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, CODE_WRITES_RING_BYTES);
} code_writes SEC(".maps");

/* Threads that wait, until userspace deletes them, and for the answer to the event of which moment. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HOLDS_MAX);
	__type(key, u32); /* tid as the host sees it */
	__type(value, u64);
} code_held SEC(".maps");

/* Known to the verifier by its name. */
struct bpf_task_work {
	u64 opaque;
} __attribute__((aligned(8)));

struct code_hold {
	struct bpf_task_work work;
	struct code_write_event event; /* ts: 0: it was told already */
	u64 end_ns;
};

/* A thread waits in turns, two of which follow each other: one can't order itself again. */
struct code_hold_key {
	u32 tid; /* as the host sees it */
	u32 turn;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HOLDS_MAX);
	__type(key, struct code_hold_key);
	__type(value, struct code_hold);
} code_holds SEC(".maps");

/* Userspace is there, and looks at once. */
volatile unsigned int code_hold_wanted = 0;
volatile unsigned int code_writes_lost = 0; /* for which the ring had no room */
/* How many threads went on before what they did was answered, and of how many of these it was since. While they differ, who changes any
 * mapping waits, wherever that is: so the kernel comes to put breakpoints back over what was written. */
volatile unsigned int code_late = 0;
volatile unsigned int code_late_answered = 0;

typedef int (*work_function)(struct bpf_map *map, void *key, void *value);
extern int bpf_task_work_schedule_resume_impl(struct task_struct *task, struct bpf_task_work *work,
					      void *map, work_function function,
					      void *program) __ksym __weak;

/* ---- what the system call does ---- */

/* The first range of a process that ends behind `start`. */
struct search {
	u32 pid;
	u64 start, low, high;
};

/* By a loop of the kernel's: the verifier would follow each way through one of ours. */
static long search_step(u32 index, struct search *search)
{
	const struct probed_code *code = bpf_map_lookup_elem(&probed_code, &search->pid);
	u64 middle = (search->low + search->high) / 2;

	if (!code || search->low >= search->high || middle >= PROBED_RANGES_MAX)
		return 1;
	if (code->items[middle].end <= search->start)
		search->low = middle + 1;
	else
		search->high = middle;
	return 0;
}

static __always_inline bool ranges_overlap(u32 pid, const struct probed_code *code, u64 start,
					   u64 end)
{
	struct search search = {.pid = pid, .start = start, .high = code->count};
	u64 found;

	/* Most that is mapped and unmapped lies outside of all. */
	if (!search.high || end <= code->items[0].start)
		return false;
	bpf_loop(SEARCH_TURNS, search_step, &search, 0);
	found = search.low;
	return found < code->count && found < PROBED_RANGES_MAX && code->items[found].start < end;
}

static __always_inline struct file *file_of(u64 descriptor)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;

	if (descriptor >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), files + descriptor);
	return file;
}

static __always_inline bool is_of_proc(u64 descriptor)
{
	struct file *file = file_of(descriptor);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;

	return inode && BPF_CORE_READ(inode, i_sb, s_magic) == PROC_SUPER_MAGIC;
}

static __always_inline bool is_probed(struct file *file)
{
	u64 number = BPF_CORE_READ(file, f_inode, i_ino);

	return bpf_map_lookup_elem(&code_files, &number);
}

static __always_inline bool is_patcher(struct file *file)
{
	u64 name[2] = {};
	const struct code_patcher *patcher;

	bpf_probe_read_kernel_str(name, sizeof(name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	for (u32 i = 0; i < CODE_PATCHERS_MAX; i++) {
		u32 index = i;

		patcher = bpf_map_lookup_elem(&code_patchers, &index);
		if (!patcher || !patcher->mask[0])
			return false;
		if ((name[0] & patcher->mask[0]) == patcher->name[0] &&
		    (name[1] & patcher->mask[1]) == patcher->name[1])
			return true;
	}
	return false;
}

/* Of an address space, by a system call. */
struct change {
	u64 starts[2], bytes[2]; /* bytes 0: of nothing */
	u32 kind;		 /* where there are probes in it; */
	u32 otherwise;		 /* where there are none; 0: nothing to tell */
	bool waits_not;		 /* nobody has to wait for what follows */
};

static __always_inline void maps_code(struct change *change, struct file *file)
{
	if (!file)
		return;
	change->otherwise = is_patcher(file) ? CODE_PATCHER : CODE_MAPPED;
	change->waits_not = change->otherwise == CODE_MAPPED && !is_probed(file);
}

static __always_inline void maps(struct change *change, const struct pt_regs *registers)
{
	u64 protection = arch_system_call_argument(registers, 3);
	u64 flags = arch_system_call_argument(registers, 4);

	if (flags & MAP_FIXED && !(flags & MAP_FIXED_NEW)) {
		change->starts[0] = arch_system_call_argument(registers, 1);
		change->bytes[0] = arch_system_call_argument(registers, 2);
	}
	/* Its own file again, as a rule: that is compared. */
	change->kind =
		flags & MAP_ANONYMOUS || protection & PROT_WRITE ? CODE_REPLACED : CODE_WRITTEN;
	if (protection & PROT_EXEC && !(flags & MAP_ANONYMOUS))
		maps_code(change, file_of(arch_system_call_argument(registers, 5)));
}

/* What was loaded goes. */
static __always_inline void unmaps(struct change *change, const struct pt_regs *registers)
{
	change->starts[0] = arch_system_call_argument(registers, 1);
	change->bytes[0] = arch_system_call_argument(registers, 2);
	change->kind = CODE_MAPPED;
}

/* What can't be written to afterwards may be what was written before. */
static __always_inline void protects(struct change *change, const struct pt_regs *registers)
{
	change->starts[0] = arch_system_call_argument(registers, 1);
	change->bytes[0] = arch_system_call_argument(registers, 2);
	change->kind = arch_system_call_argument(registers, 3) & PROT_WRITE ? CODE_REPLACED
									    : CODE_PROTECTED;
}

static __always_inline void moves(struct change *change, const struct pt_regs *registers)
{
	change->starts[0] = arch_system_call_argument(registers, 1);
	change->bytes[0] = arch_system_call_argument(registers, 2);
	if (arch_system_call_argument(registers, 4) & MREMAP_FIXED) {
		change->starts[1] = arch_system_call_argument(registers, 5);
		change->bytes[1] = arch_system_call_argument(registers, 3);
	}
	change->kind = CODE_REPLACED;
}

/* Who has the lock to himself changes mappings; */
static __always_inline void change_alone(struct change *change, const struct pt_regs *registers)
{
	switch (arch_system_call(registers)) {
	case ARCH_MPROTECT:
	case ARCH_PKEY_MPROTECT:
		protects(change, registers);
		break;
	case ARCH_MMAP:
		maps(change, registers);
		break;
	case ARCH_MREMAP:
		moves(change, registers);
		break;
	case ARCH_MUNMAP:
		unmaps(change, registers);
		break;
	}
}

/* who shares it may be writing to them through a file. */
static __always_inline void change_shared(struct change *change, const struct pt_regs *registers)
{
	switch (arch_system_call(registers)) {
	case ARCH_WRITE:
	case ARCH_PWRITE64:
	case ARCH_WRITEV:
	case ARCH_PWRITEV:
	case ARCH_PWRITEV2:
		if (is_of_proc(arch_system_call_argument(registers, 1)))
			change->otherwise = CODE_WRITTEN;
	}
}

/* Its kind, and where; 0: nothing to tell. */
static __always_inline u32 what_is_done(struct code_write_event *event,
					const struct probed_code *ranges,
					const struct pt_regs *registers, bool alone,
					bool *ret_waits)
{
	bool late = code_late != code_late_answered;
	struct change change = {};

	*ret_waits = true;
	if (alone)
		change_alone(&change, registers);
	else
		change_shared(&change, registers);
	for (u32 i = 0; i < 2; i++) {
		u64 start = change.starts[i];
		u64 end = (start + change.bytes[i] + ARCH_PAGE_BYTES - 1) & -(u64)ARCH_PAGE_BYTES;

		if (!change.bytes[i])
			continue;
		event->start = start;
		event->end = end;
		if (ranges_overlap(event->pid, ranges, start, end))
			return change.kind;
	}
	*ret_waits = late || !change.waits_not;
	/* Where probes are may be what was not answered. */
	if (late && !change.otherwise && event->end)
		return change.kind;
	event->start = event->end = 0;
	return change.otherwise;
}

/* ---- telling, and waiting ---- */

struct waiting {
	u32 tid;
	u64 end_ns;
};

static long wait_on(u32 index, struct waiting *waiting)
{
	return !bpf_map_lookup_elem(&code_held, &waiting->tid) ||
	       bpf_ktime_get_ns() >= waiting->end_ns;
}

/* Nothing of its code is run any more. */
static __always_inline bool is_ending(void)
{
	return BPF_CORE_READ(bpf_get_current_task_btf(), signal, flags) & SIGNAL_GROUP_EXIT;
}

static int hold(struct bpf_map *map, void *key, void *value);

static __always_inline int hold_order(const struct code_hold_key *key,
				      const struct code_write_event *event, u64 end_ns)
{
	struct code_hold empty = {}, *held;

	bpf_map_update_elem(&code_holds, key, &empty, BPF_NOEXIST);
	held = bpf_map_lookup_elem(&code_holds, key);
	if (!held)
		return -1;
	held->event = *event;
	held->end_ns = end_ns;
	return bpf_task_work_schedule_resume_impl(bpf_get_current_task_btf(), &held->work,
						  &code_holds, hold, NULL);
}

static __always_inline bool send(const struct code_write_event *event)
{
	if (!bpf_ringbuf_output(&code_writes, (void *)event, sizeof(*event), BPF_RB_FORCE_WAKEUP))
		return true;
	__sync_fetch_and_add(&code_writes_lost, 1);
	return false;
}

static __always_inline void goes_on_unanswered(u32 tid)
{
	if (!bpf_map_delete_elem(&code_held, &tid))
		__sync_fetch_and_add(&code_late, 1);
}

/* False: the call failed, and nothing was changed, or nobody could let go of the thread. */
static __always_inline bool hold_begins(struct code_write_event *event)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	s64 result = arch_result(registers);
	u32 tid = event->tid;

	if (result < 0 && result > -ERRNO_MAX)
		return false;
	event->held = !bpf_map_update_elem(&code_held, &tid, &event->ts, BPF_ANY);
	if (send(event) || !event->held)
		return event->held;
	goes_on_unanswered(tid);
	return false;
}

static __always_inline void hold_ends(const struct code_write_event *event, u64 end_ns)
{
	struct probed_code *code;
	u32 pid = event->pid;

	goes_on_unanswered(event->tid);
	code = bpf_map_lookup_elem(&probed_code, &pid);
	if (code)
		__sync_fetch_and_add(&code->held_ns, bpf_ktime_get_ns() - (end_ns - CODE_HOLD_NS));
}

/*
 * On the way back to user mode: what the system call was to do is done. Between two turns the kernel does what else there is to be
 * done, lets others have the CPU above all: what takes the probes out waits for that.
 */
static int hold(struct bpf_map *map, void *key, void *value)
{
	const struct code_hold *held = value;
	struct code_hold_key next = *(struct code_hold_key *)key;
	struct code_write_event event = held->event;
	struct waiting waiting = {.tid = event.tid, .end_ns = bpf_ktime_get_ns() + HOLD_TURN_NS};
	u64 end_ns = held->end_ns;

	if (event.ts && !hold_begins(&event))
		return 0;
	event.ts = 0;
	bpf_loop(HOLD_LOOKS_MAX, wait_on, &waiting, 0);
	next.turn = !next.turn;
	if (bpf_map_lookup_elem(&code_held, &waiting.tid) && bpf_ktime_get_ns() < end_ns &&
	    !is_ending() && !hold_order(&next, &event, end_ns))
		return 0;
	hold_ends(&event, end_ns);
	return 0;
}

static __always_inline bool hold_later(const struct code_write_event *event,
				       const struct probed_code *code)
{
	struct code_hold_key key = {.tid = event->tid};

	return code_hold_wanted && code->held_ns < CODE_HELD_MAX_NS &&
	       !hold_order(&key, event, event->ts + CODE_HOLD_NS);
}

static __always_inline int locked(struct mm_struct *mm, bool alone, bool success, bool can_hold)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	const struct probed_code *ranges;
	struct code_write_event event = {.pid = task->tgid, .tid = task->pid};
	u32 pid = task->tgid;
	bool waits;

	if (!success || task->mm != mm || !is_in_system_call(task))
		return 0;
	ranges = bpf_map_lookup_elem(&probed_code, &pid);
	if (!ranges)
		return 0;
	preemption_off();
	event.kind = what_is_done(&event, ranges, registers, alone, &waits);
	event.ts = bpf_ktime_get_ns();
	if (event.kind && !(can_hold && waits && hold_later(&event, ranges)))
		send(&event);
	preemption_on();
	return 0;
}

SEC("tp_btf/mmap_lock_acquire_returned")
int code_locked(u64 *context)
{
	return locked((void *)context[0], context[1], context[2], false);
}

/* Before 6.13 the tracepoint tells the name of the cgroup too. */
SEC("tp_btf/mmap_lock_acquire_returned")
int code_locked_named(u64 *context)
{
	return locked((void *)context[0], context[2], context[3], false);
}

SEC("tp_btf/mmap_lock_acquire_returned")
int code_locked_holding(u64 *context)
{
	return locked((void *)context[0], context[1], context[2], true);
}

static __always_inline int executed(struct linux_binprm *program, bool can_hold)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct code_write_event event = {
		.kind = CODE_EXECUTED, .pid = task->tgid, .tid = task->pid};
	u32 pid = task->tgid;
	struct probed_code *ranges = bpf_map_lookup_elem(&probed_code, &pid);

	if (!ranges)
		return 0;
	preemption_off();
	ranges->count = 0;
	event.ts = bpf_ktime_get_ns();
	if (!(can_hold && is_probed(BPF_CORE_READ(program, file)) && hold_later(&event, ranges)))
		send(&event);
	preemption_on();
	return 0;
}

SEC("tp_btf/sched_process_exec")
int code_executed(u64 *context)
{
	return executed((void *)context[2], false);
}

SEC("tp_btf/sched_process_exec")
int code_executed_holding(u64 *context)
{
	return executed((void *)context[2], true);
}
