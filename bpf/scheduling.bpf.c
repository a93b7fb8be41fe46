/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why threads of targets do not run: what they left their CPU for, how long, and who woke them. Every switch of the
 * machine comes here, only those of targets reach a ring. The scheduler calls with its lock held, so nothing is
 * allocated: a thread has its place in a table made beforehand.
 */
#include "price.h"
#include "stacks.h"
#include "arch_x86_64.h"
#include "kernel_workers.h"
#include "loopback.h"
#include "own_timer.h"
#include "waited.h"

/* So long before it left its CPU a thread can have been woken from the sleep that it was about to begin: that takes it
 * microseconds. What lies further back woke it from a sleep that it then did not need. */
#define EARLY_WAKING_MAX_NS 1000000

/* States of a task that leaves its CPU. */
#define TASK_RUNNING	     0x0
#define TASK_INTERRUPTIBLE   0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED	     0x4
#define TASK_TRACED	     0x8
#define TASK_DEAD	     0x80
#define TASK_FROZEN	     0x8000

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_scratch);
} off_cpu_scratch SEC(".maps");

/* Is it the current thread that does what is done here? An interrupt that strikes inside the kernel runs on a stack of
 * the CPU, one that strikes a program finds it outside of any system call. (The counter that would say so, preempt_count, is
 * out of reach on kernels without CONFIG_KALLSYMS_ALL.) The frame must be on the kernel's stack: from 6.13 on a program with
 * 64 bytes of its own or more has another. */
static __always_inline bool is_thread_itself(struct task_struct *task)
{
	u64 frame;

	/* The low half: of a whole pointer the verifier lets no number be made. */
	__asm__ volatile("w1 = w10\n%0 = r1" : "=r"(frame) : : "r1");
	if ((u32)frame - (u32)(u64)task->stack >= ARCH_KERNEL_STACK_BYTES)
		return false;
	return is_kernel_worker(task) || arch_is_system_call((void *)bpf_task_pt_regs(task));
}

/* One that could go on: whether it was made to leave or gave way (sched_yield) the kernel does not tell. */
static __always_inline u8 reason_of(bool preempted, u32 state)
{
	if (preempted || state == TASK_RUNNING)
		return VALUE_off_cpu_reason_preempted;
	if (state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN))
		return VALUE_off_cpu_reason_stopped;
	return state & TASK_UNINTERRUPTIBLE ? VALUE_off_cpu_reason_uninterruptible
					    : VALUE_off_cpu_reason_sleeping;
}

#define USER_ADDRESS_MIN 0x10000ULL /* vm.mmap_min_addr: no lower one is mapped */
#define CLOCKS \
	16 /* clock_nanosleep() knows so many, and those of processes have negative numbers */
#define SECONDS_MAX (1ULL << 31) /* of a host's uptime; as many nanoseconds are two seconds */

/*
 * Which call restart_syscall goes on with, by what that one left behind (include/linux/restart_block.h): a sleep its clock, where
 * others have an address, and its end in nanoseconds where a poll has seconds; a futex a mask of all bits there. Where that is not
 * clear it is restart_syscall.
 */
static __always_inline u64 restarted_call(struct task_struct *task, u64 *room)
{
	const struct restart_block *block = &task->restart_block;
	u64 address, end;

	/* A later kernel may keep a poll's end in another member: no reason for it to refuse the program. */
	if (!bpf_core_field_exists(block->poll.tv_sec))
		return ARCH_RESTART;
	/* Read as numbers: where the kernel's type has pointers the verifier lets nobody compute, and before 6.12 it refuses
	 * what lies behind the first member of a union. */
	if (bpf_probe_read_kernel(room, sizeof(*room), &block->poll.ufds))
		return ARCH_RESTART;
	address = *room;
	if (bpf_probe_read_kernel(room, sizeof(*room), &block->poll.tv_sec))
		return ARCH_RESTART;
	end = *room;
	if ((u32)address < CLOCKS && address >> 32 <= 2)
		return end >= SECONDS_MAX ? ARCH_CLOCK_NANOSLEEP
		       : address	  ? ARCH_RESTART
					  : ARCH_POLL;
	if (address < USER_ADDRESS_MIN)
		return ARCH_RESTART;
	if ((u32)end == ~0U)
		return ARCH_FUTEX;
	return end < SECONDS_MAX ? ARCH_POLL : ARCH_RESTART;
}

/* What a thread that never was outside the kernel waits as. */
static __always_inline u32 worker_name(const struct task_struct *task, u8 reason)
{
	if (reason == VALUE_off_cpu_reason_preempted || reason == VALUE_off_cpu_reason_stopped)
		return TEXT_OFF_CPU + reason;
	return task->flags & PF_IO_WORKER ? TEXT_IO_URING_WORKER : TEXT_KERNEL_WORKER;
}

/* The system call that the thread is in, or why else it left its CPU. room: to work in, not on the stack of whom is_thread_itself() asks. */
static __always_inline u32 name_of(struct task_struct *task, u8 reason, u64 *room)
{
	const struct pt_regs *registers = (void *)bpf_task_pt_regs(task);
	u64 number = arch_system_call(registers);

	if (is_kernel_worker(task))
		return worker_name(task, reason);
	if (reason == VALUE_off_cpu_reason_preempted || !arch_is_system_call(registers) ||
	    number >= SYSTEM_CALLS_MAX)
		return TEXT_OFF_CPU + reason;
	return TEXT_SYSTEM_CALL + (number == ARCH_RESTART ? restarted_call(task, room) : number);
}

/* Not on the stack, see is_thread_itself(). */
static const volatile struct off_cpu nothing_yet;

/* The place of a thread, made when it first waits or is woken. It is never replaced: others write into it at the same time. */
static __always_inline struct off_cpu *place_get(u32 tid)
{
	struct off_cpu *off = bpf_map_lookup_elem(&off_cpu_threads, &tid);

	if (off)
		return off;
	bpf_map_update_elem(&off_cpu_threads, &tid, (const void *)&nothing_yet, BPF_NOEXIST);
	return bpf_map_lookup_elem(&off_cpu_threads, &tid);
}

static __always_inline void leave_cpu(void *context, struct task_struct *task,
				      const struct task_struct *next, bool preempted, u32 state)
{
	u64 pid_tgid = (u64)task->tgid << 32 | (u32)task->pid;
	u32 zero = 0;
	struct stack_scratch *scratch = bpf_map_lookup_elem(&off_cpu_scratch, &zero);
	struct off_cpu *off = place_get(task->pid);
	struct stack_taken taken;

	if (!scratch)
		return;
	price_count(PRICE_WAITS);
	if (!off) {
		count_loss(VALUE_loss_reason_threads_full);
		return;
	}
	/* Nobody told that it came back: kernels can hide processes of theirs (the agent of a virtual machine) from
	 * tracepoints, and with them whom they switch to. */
	if (off->since_ns)
		count_loss(VALUE_loss_reason_wait_end_unseen);
	off->reason = reason_of(preempted, state);
	off->name = name_of(task, off->reason, scratch->addresses);
	taken = stack_take_uncounted(context, scratch, pid_tgid,
				     (struct stack_inner){.hash = task->tgid});
	off->stack = (union waiting_stack){{taken.id, taken.end}};
	off->waited.fd = ~0U;
	off->waited.text = off->waited.holder = off->waited.address = 0;
	off->instead_pid = off->instead_tid = off->instead = off->throttled = 0;
	if (off->reason == VALUE_off_cpu_reason_preempted)
		instead_find(off, task, next);
	else
		waited_find(task, &off->waited, &off->waited_last);
	off->before = 0;
	off->cpu = bpf_get_smp_processor_id();
	off->pid = task->tgid;
	off->switches = switches_of(task);
	off->seen = true;
	off->woken.ts = 0;
	/* From here on a waker knows that it is off. */
	off->since_ns = bpf_ktime_get_ns();
}

/* A thread that slept and was not woken since was woken before. */
static __always_inline const struct waking *waking_of(const struct off_cpu *off)
{
	if (off->woken.ts)
		return &off->woken;
	if (off->early.ts + EARLY_WAKING_MAX_NS >= off->since_ns)
		return &off->early;
	return NULL;
}

/* How long of a wait that is over the thread could have run: it is known who woke it, or it could run all the time. */
static __always_inline u64 ready_time(const struct off_cpu *off, u64 dur)
{
	const struct waking *waking = waking_of(off);

	if (off->reason == VALUE_off_cpu_reason_preempted)
		return dur;
	if (!waking)
		return 0;
	return waking->ts < off->since_ns ? dur : off->since_ns + dur - waking->ts;
}

static __always_inline void fill_waking(struct record_off_cpu *record, const struct off_cpu *off,
					u64 dur)
{
	const struct waking *waking = waking_of(off);

	record->runnable_ns = ~0ULL;
	if (off->reason == VALUE_off_cpu_reason_preempted) {
		record->runnable_ns = dur;
		return;
	}
	if (!waking)
		return;
	record->woken_by = waking->by;
	record->waker_pid = waking->pid;
	record->waker_tid = waking->tid;
	record->waker = waking->name;
	/* What was open when the window closed has no end to measure from. */
	if (dur != RECORD_DURATION_OPEN)
		record->runnable_ns = ready_time(off, dur);
}

static __always_inline void add_short(struct off_cpu *off, u64 dur)
{
	if (!off->short_waits++)
		off->short_first_ns = off->since_ns;
	off->short_ns += dur;
	off->short_ready_ns += ready_time(off, dur);
	off->short_last_ns = off->since_ns + dur;
}

static __always_inline void fill_short(struct record_short_wait *record, const struct off_cpu *off,
				       u64 pid_tgid)
{
	fill_header(&record->header, sizeof(*record), KIND_short_wait, off->short_first_ns,
		    off->short_last_ns - off->short_first_ns, pid_tgid, 0);
	record->waits = off->short_waits;
	record->time_ns = off->short_ns;
	record->ready_ns = off->short_ready_ns;
}

static __always_inline void fill_off_cpu(struct record_off_cpu *record, const struct off_cpu *off,
					 u64 pid_tgid, u64 dur)
{
	fill_header(&record->header, sizeof(*record), KIND_off_cpu, off->since_ns, dur, pid_tgid,
		    off->name);
	record->header.stack = off->stack.id;
	record->reason = off->reason;
	record->waited = off->waited.text;
	record->fd = off->waited.fd;
	record->futex = off->waited.address;
	record->holder_tid = off->waited.holder;
	record->instead_pid = off->instead_pid;
	record->instead_tid = off->instead_tid;
	record->instead = off->instead;
	record->throttled = off->throttled;
	record->before = off->before;
	record->from_cpu = off->before ? ~0U : off->cpu;
	record->to_cpu = ~0U;
	fill_waking(record, off, dur);
}

/* Did it begin when waits were not recorded any more? */
static __always_inline bool is_too_late(const struct off_cpu *off)
{
	u64 until_ns = off_cpu_until_ns;

	return until_ns && off->since_ns >= until_ns;
}

static __always_inline void take_cpu(struct task_struct *task)
{
	u32 tid = task->pid;
	struct off_cpu *off = bpf_map_lookup_elem(&off_cpu_threads, &tid);
	struct record_off_cpu record = {};
	u64 dur;

	if (!off)
		return;
	/* Nobody told that it had left, see leave_cpu(). Of one that never was seen to leave only its waking was, from a wait that began
	 * before the window, and ended before threads_off_cpu() came to it. */
	if (!off->since_ns) {
		if (off->seen)
			count_loss(VALUE_loss_reason_wait_end_unseen);
		return;
	}
	dur = bpf_ktime_get_ns() - off->since_ns;
	/* It has run since, and nobody told of that either. */
	if (switches_of(task) != off->switches) {
		count_loss(VALUE_loss_reason_wait_end_unseen);
		off->since_ns = off->early.ts = 0;
		return;
	}
	if (dur < off_cpu_min_ns && !is_too_late(off)) {
		add_short(off, dur);
	} else if (!is_too_late(off)) {
		instead_settle(off);
		fill_off_cpu(&record, off, (u64)task->tgid << 32 | tid, dur);
		record.to_cpu = bpf_get_smp_processor_id();
		emit(&record.header, sizeof(record));
		stack_count(off->stack.end);
	}
	off->since_ns = off->early.ts = 0;
}

/* A thread that will never run again leaves its place to others. */
static __always_inline void leave_for_good(struct task_struct *task)
{
	u32 tid = task->pid;
	const struct off_cpu *off = bpf_map_lookup_elem(&off_cpu_threads, &tid);
	struct record_short_wait record = {};

	if (off && off->short_waits && !is_own_thread(tid)) {
		fill_short(&record, off, (u64)task->tgid << 32 | tid);
		emit(&record.header, sizeof(record));
	}
	bpf_map_delete_elem(&off_cpu_threads, &tid);
}

SEC("tp_btf/sched_switch")
int task_switched(u64 *context)
{
	bool preempted = context[0];
	struct task_struct *previous = (void *)context[1], *next = (void *)context[2];
	u32 state = context[3];
	bool left, came;
	u64 begin_ns;

	if (!window_open)
		return 0;
	begin_ns = price_begin_any(PRICE_WAITS);
	/* Of a process its first thread goes last, and only then it is no target any more. */
	left = is_target(previous->tgid);
	came = is_target_thread(next->tgid, next->pid);
	if (left && state & TASK_DEAD)
		leave_for_good(previous);
	left = left && !is_own_thread(previous->pid);
	ran_note(previous);
	if (left && !(state & TASK_DEAD))
		leave_cpu(context, previous, next, preempted, state);
	if (came)
		take_cpu(next);
	if (left || came)
		price_end_of(PRICE_WAITS, begin_ns);
	return 0;
}

SEC("tp_btf/sched_waking")
int task_woken(u64 *context)
{
	struct task_struct *task = (void *)context[0], *waker = bpf_get_current_task_btf();
	struct waking waking = {.by = VALUE_woken_by_interrupt};
	struct off_cpu *off;
	u64 begin_ns;

	if (!window_open)
		return 0;
	begin_ns = price_begin_any(PRICE_WAITS);
	if (!is_target_thread(task->tgid, task->pid))
		return 0;
	off = place_get(task->pid);
	if (!off)
		return 0;
	/* With PREEMPT_RT a thread of the kernel's sees to timers. */
	if (is_own_timer(task)) {
		waking.by = VALUE_woken_by_timer;
	} else if (is_thread_itself(waker) || is_woken_by_loopback(task, waker)) {
		waking.by = VALUE_woken_by_thread;
		waking.pid = waker->tgid;
		waking.tid = waker->pid;
		if (!is_target(waker->tgid))
			waking.name = stranger_text(waker->comm, waker->tgid, waker->pid);
	}
	waking.ts = bpf_ktime_get_ns();
	if (off->since_ns)
		off->woken = waking;
	else
		off->early = waking;
	price_end_of(PRICE_WAITS, begin_ns);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int timer_begins(u64 *context)
{
	if (window_open)
		set_timer_over(context[0]);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int timer_ends(u64 *context)
{
	set_timer_over(0);
	return 0;
}

/* Read when the window opens, for the threads that are off their CPU then: their stacks are taken by sleepers.bpf.c. */
SEC("iter/task")
int threads_off_cpu(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct off_cpu off = {.before = VALUE_yes_no_yes, .seen = true, .waited = {.fd = ~0U}};
	u32 tid, state;
	u64 room;

	if (!task || !is_target_thread(task->tgid, task->pid))
		return 0;
	tid = task->pid;
	off.pid = task->tgid;
	state = task->__state;
	if (state == TASK_RUNNING || state & TASK_DEAD)
		return 0;
	off.reason = reason_of(false, state);
	off.name = name_of(task, off.reason, &room);
	waited_find(task, &off.waited, NULL);
	off.since_ns = bpf_ktime_get_ns();
	off.switches = switches_of(task);
	/* One that was switched since is known better; one that came back unseen in between is not off. */
	if (!bpf_map_update_elem(&off_cpu_threads, &tid, &off, BPF_NOEXIST) &&
	    BPF_CORE_READ(task, __state) == TASK_RUNNING)
		bpf_map_delete_elem(&off_cpu_threads, &tid);
	return 0;
}

/* When threads_found_off_cpu() began; 0: it was not read. */
u64 off_cpu_found_ns;

/* Read right before the window is closed, while switches are told still, unless waits were switched off before: which threads are in
 * the waits that their places have. That of a thread that came back unseen and has ended unseen, too, or has not left since, is over,
 * nobody knows since when. */
SEC("iter/task")
int threads_found_off_cpu(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct off_cpu *off;
	u32 tid;

	if (!task)
		return 0;
	tid = task->pid;
	off = bpf_map_lookup_elem(&off_cpu_threads, &tid);
	/* One that is woken has another number of switches only when it leaves its CPU again, and then it was seen to come; where
	 * waits are switched off nobody sees that, but it has another state before it comes onto a CPU. */
	if (off && off->switches == switches_of(task) &&
	    !(off_cpu_until_ns && task->__state == TASK_RUNNING))
		off->found_ns = off->since_ns;
	return 0;
}

/* Is the wait over, though nobody told so? One that began since threads were looked for is not. */
static __always_inline bool is_over_unseen(const struct off_cpu *off)
{
	return off->since_ns < off_cpu_found_ns && off->found_ns != off->since_ns;
}

/* Run for each when the window is closed: nothing changes the table any more. A thread that has ended since has its place still. */
SEC("syscall")
int open_off_cpu(struct element_request *request)
{
	struct record_off_cpu record = {};
	u32 tid = request->key;
	const struct off_cpu *off = bpf_map_lookup_elem(&off_cpu_threads, &tid);

	if (!off || !off->since_ns || is_too_late(off) || is_own_thread(tid))
		return 0;
	if (!off_cpu_until_ns && is_over_unseen(off)) {
		count_loss(VALUE_loss_reason_wait_end_unseen);
		return 0;
	}
	fill_off_cpu(&record, off, (u64)off->pid << 32 | tid, RECORD_DURATION_OPEN);
	if (off_cpu_until_ns && off->found_ns != off->since_ns)
		record.ended = VALUE_off_cpu_ended_unseen;
	ANSWER(request, record);
	stack_count(off->stack.end);
	return 0;
}

/* The same of what was too short to be recorded. */
SEC("syscall")
int short_waits(struct element_request *request)
{
	struct record_short_wait record = {};
	u32 tid = request->key;
	const struct off_cpu *off = bpf_map_lookup_elem(&off_cpu_threads, &tid);

	if (!off || !off->short_waits || is_own_thread(tid))
		return 0;
	fill_short(&record, off, (u64)off->pid << 32 | tid);
	ANSWER(request, record);
	return 0;
}
