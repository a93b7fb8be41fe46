/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where threads of targets run: the clock of each CPU looks some times a second. And how long they have run, as the scheduler
 * counts it: what the samples of a thread stand for is scaled to that. A tick comes as an interrupt, in the middle of
 * whatever program of ours is running.
 */
#include "price.h"
#include "stacks.h"
#include "arch_x86_64.h"
#include <linux/bpf_perf_event.h>

#define TASK_DEAD 0x80 /* in the state of a task that leaves its CPU */

/* Of the kernel's frames the innermost ones; what is left of STACK_DEPTH_MAX is the program's. */
#define KERNEL_FRAMES_MAX 48

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_scratch);
} sample_scratch SEC(".maps");

struct kernel_hash {
	const u64 *addresses;
	u64 hash;
};

static long kernel_hash_next(u32 index, struct kernel_hash *state)
{
	if (index >= KERNEL_FRAMES_MAX)
		return 1;
	state->hash = stack_hash_add(state->hash, state->addresses[index]);
	return 0;
}

/* The kernel's part of the stack, into scratch. */
static __always_inline struct stack_inner take_kernel(struct bpf_perf_event_data *context,
						      struct stack_scratch *scratch, u32 pid)
{
	struct kernel_hash state = {scratch->addresses, pid};
	long size = bpf_get_stack(context, scratch->addresses, KERNEL_FRAMES_MAX * sizeof(u64), 0);
	u32 depth = size > 0 ? (u32)size / sizeof(u64) : 0;

	bpf_loop(depth, kernel_hash_next, &state, 0);
	return (struct stack_inner){depth, state.hash};
}

static __always_inline void take_sample(struct bpf_perf_event_data *context, u64 pid_tgid)
{
	u32 zero = 0, pid = pid_tgid >> 32;
	struct stack_scratch *scratch = bpf_map_lookup_elem(&sample_scratch, &zero);
	struct stack_inner inner = {.hash = pid};
	struct record_sample record = {};

	if (!scratch)
		return;
	fill_header(&record.header, sizeof(record), KIND_sample, bpf_ktime_get_ns(), 0, pid_tgid,
		    0);
	record.period_ns = sample_period_ns;
	record.cpu = bpf_get_smp_processor_id();
	record.in_kernel = arch_is_user_mode(&context->regs) ? 0 : VALUE_yes_no_yes;
	if (record.in_kernel)
		inner = take_kernel(context, scratch, pid);
	scratch->interrupts = 1;
	scratch->in_user = !record.in_kernel;
	record.header.stack = stack_take_behind(context, scratch, pid_tgid, inner);
	emit(&record.header, sizeof(record));
}

SEC("perf_event")
int cpu_sampled(struct bpf_perf_event_data *context)
{
	u64 pid_tgid, begin_ns;

	if (!window_open)
		return 0;
	pid_tgid = bpf_get_current_pid_tgid();
	begin_ns = price_begin_any(PRICE_SAMPLES);
	if (!is_target_thread(pid_tgid >> 32, (u32)pid_tgid))
		return 0;
	price_count(PRICE_SAMPLES);
	take_sample(context, pid_tgid);
	price_end_of(PRICE_SAMPLES, begin_ns);
	return 0;
}

/* ---- how long threads have run ---- */

/* Of a target, by a thread of it. */
SEC("tp_btf/sched_process_fork")
int thread_born(u64 *context)
{
	struct task_struct *parent = (void *)context[0], *child = (void *)context[1];
	struct thread_start start = {};
	u32 tid = child->pid;

	if (!window_open || !is_target(parent->tgid) ||
	    (child->tgid != parent->tgid && !follow_children))
		return 0;
	start.since_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&thread_starts, &tid, &start, BPF_ANY))
		count_loss(VALUE_loss_reason_thread_times_full);
	return 0;
}

/* What it did since start, up to now. A thread that runs on another CPU has its last milliseconds counted by the next tick only. */
static __always_inline void fill_time(struct record_thread_time *record, struct task_struct *task,
				      const struct thread_start *start, u64 now)
{
	fill_header(&record->header, sizeof(*record), KIND_thread_time, start->since_ns,
		    now - start->since_ns, (u64)task->tgid << 32 | (u32)task->pid, 0);
	record->run_ns = task->se.sum_exec_runtime - start->run_ns;
	record->ready_ns = ~0ULL;
	if (bpf_core_field_exists(task->sched_info))
		record->ready_ns = task->sched_info.run_delay - start->ready_ns;
	record->sampled_ns = samples_over ? 0 : ~0ULL;
}

static __always_inline void fill_start(struct thread_start *start, struct task_struct *task,
				       u64 now)
{
	start->since_ns = now;
	start->run_ns = task->se.sum_exec_runtime;
	start->ready_ns = 0;
	if (bpf_core_field_exists(task->sched_info))
		start->ready_ns = task->sched_info.run_delay;
}

/* A thread that will never run again: only now all of its time is counted. Once: who takes its start away tells of it. */
static __always_inline void thread_ended(struct task_struct *task)
{
	struct record_thread_time record = {};
	const struct thread_start *start;
	u64 end_ns = thread_times_end_ns;
	u32 tid = task->pid;

	start = bpf_map_lookup_elem(&thread_starts, &tid);
	if (!start || thread_times_over)
		return;
	fill_time(&record, task, start, end_ns ? end_ns : bpf_ktime_get_ns());
	if (!bpf_map_delete_elem(&thread_starts, &tid))
		emit(&record.header, sizeof(record));
}

/* It is ending, and has to wait for something or for its CPU: the window may be over before it goes on, and nobody finds it in a list of threads any more. */
static __always_inline void thread_ends(struct task_struct *task)
{
	struct record_thread_time record = {};
	struct thread_start *start;
	u32 tid = task->pid;

	start = bpf_map_lookup_elem(&thread_starts, &tid);
	if (!start)
		return;
	fill_time(&record, task, start, bpf_ktime_get_ns());
	start->ending_ns = start->since_ns + record.header.dur;
	start->ending_run_ns = record.run_ns;
	start->ending_ready_ns = record.ready_ns;
	start->ending_pid = task->tgid;
}

/* Also right behind the window, until its times are taken. */
SEC("tp_btf/sched_switch")
int thread_left(u64 *context)
{
	struct task_struct *task = (void *)context[1];
	u32 state = context[3];

	if (!(task->flags & PF_EXITING) || !is_target(task->tgid) || is_own_thread(task->pid))
		return 0;
	if (state & TASK_DEAD)
		thread_ended(task);
	else
		thread_ends(task);
	return 0;
}

/* Read when the window opens. */
SEC("iter/task")
int begin_thread_times(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct thread_start start;
	u32 tid;

	if (!task || !is_target_thread(task->tgid, task->pid))
		return 0;
	tid = task->pid;
	fill_start(&start, task, bpf_ktime_get_ns());
	/* One that was born since has more of its time there. */
	if (!bpf_map_lookup_elem(&thread_starts, &tid) &&
	    bpf_map_update_elem(&thread_starts, &tid, &start, BPF_NOEXIST))
		count_loss(VALUE_loss_reason_thread_times_full);
	return 0;
}

/* Read when samples end, with the window, or before it: what follows is counted anew then. */
SEC("iter/task")
int take_thread_times(struct bpf_iter__task *context)
{
	struct record_thread_time record = {};
	struct task_struct *task = context->task;
	struct thread_start *start;
	u64 now;
	u32 tid;

	if (!task || !is_target_thread(task->tgid, task->pid))
		return 0;
	tid = task->pid;
	start = bpf_map_lookup_elem(&thread_starts, &tid);
	if (!start)
		return 0;
	now = bpf_ktime_get_ns();
	if (thread_times_end_ns) {
		fill_time(&record, task, start, thread_times_end_ns);
		if (!bpf_map_delete_elem(&thread_starts, &tid))
			bpf_seq_write(context->meta->seq, &record, sizeof(record));
		return 0;
	}
	fill_time(&record, task, start, now);
	bpf_seq_write(context->meta->seq, &record, sizeof(record));
	fill_start(start, task, now);
	return 0;
}

/* Run for each behind that, with the window: threads that are ending and in no list any more. */
SEC("syscall")
int take_ending_thread_times(struct element_request *request)
{
	struct record_thread_time record = {};
	u32 tid = request->key;
	const struct thread_start *start = bpf_map_lookup_elem(&thread_starts, &tid);
	u64 end_ns;

	if (!start || !start->ending_ns)
		return 0;
	end_ns = start->ending_ns < thread_times_end_ns ? start->ending_ns : thread_times_end_ns;
	fill_header(&record.header, sizeof(record), KIND_thread_time, start->since_ns,
		    end_ns - start->since_ns, (u64)start->ending_pid << 32 | tid, 0);
	record.run_ns = start->ending_run_ns;
	record.ready_ns = start->ending_ready_ns;
	record.sampled_ns = samples_over ? 0 : ~0ULL;
	ANSWER(request, record);
	return 0;
}
