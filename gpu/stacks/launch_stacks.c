/* SPDX-License-Identifier: MIT */
#include "launch_stacks.h"

#include <string.h>

#include "../base/absent.h"
#include "../base/system.h"

#define TIMED_MAX_NS 20000

struct launch_stacks *launch_stacks_open(struct agent_control *control, const struct ring *ring,
					 u64 mapped_bytes, u64 fact_ns)
{
	u64 before = AGENT_CONTROL_BYTES + (u64)ring->chunk_count * AGENT_CHUNK_BYTES;
	struct launch_stacks *stacks = mapped_bytes > before ? system_map(sizeof(*stacks)) : NULL;

	if (!stacks)
		return NULL;
	stacks->control = control;
	stacks->ring = *ring;
	stacks->pid = system_pid();
	stacks->fact_ns = fact_ns;
	if (stack_tables_open(&stacks->sight.tables, (const void *)((u8 *)control + before),
			      mapped_bytes - before))
		return stacks;
	launch_stacks_close(stacks);
	return NULL;
}

void launch_stacks_close(struct launch_stacks *stacks)
{
	if (!stacks)
		return;
	launch_threads_release(&stacks->threads);
	system_unmap(stacks, sizeof(*stacks));
}

static bool is_in_window(const struct agent_control *control)
{
	return __atomic_load_n(&control->window_start_ns, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&control->window_end_ns, __ATOMIC_ACQUIRE);
}

/* Of what CUDA and CUPTI have between the call and us the first function is kept, which was called. False: the stack ends there. */
static bool leave_cuda(struct stack_walk *walk)
{
	u64 called = 0;

	while (walk->depth < STACK_WALK_DEPTH_MAX &&
	       stack_tables_of_cuda(&walk->space, walk->at.ip - 1)) {
		called = walk->at.ip - 1;
		if (!stack_walk_next(walk))
			return false;
	}
	stack_walk_forget(walk);
	if (called)
		stack_walk_put(walk, called);
	return true;
}

/* NULL: there is none. */
static const struct python_process *find_python(const struct agent_tables *tables)
{
	u32 filled = __atomic_load_n(&tables->pythons_filled, __ATOMIC_ACQUIRE);
	const struct python_process *process = &tables->pythons[filled % 2];

	return filled && process->code_type ? process : NULL;
}

static void read_python(struct launch_stacks *stacks, struct ring_writer *writer,
			const struct stack_walk *walk, struct python_frames *frames)
{
	const struct agent_tables *tables = stacks->sight.tables.shared;
	const struct python_reader reader = {
		.memory = &stacks->sight.memory,
		.moment = walk->moment,
		.process = find_python(tables),
		.codes = &stacks->codes,
		.writer = writer,
		.first_number = tables->first_code,
		.pid = stacks->pid,
	};

	python_frames_read(frames, &reader);
}

/* The id of the stack; 0: there is none. */
static u32 take(struct launch_stacks *stacks, struct ring_writer *writer,
		const struct stack_registers *registers, u64 now_ns)
{
	struct python_frames python;
	struct stack_walk walk;

	if (!stack_walk_begin(&walk, &stacks->sight, now_ns, registers) || !leave_cuda(&walk))
		return 0;
	read_python(stacks, writer, &walk, &python);
	walk.python = python.count ? &python : NULL;
	while (stack_walk_next(&walk))
		;
	if (!stack_tables_space_lasts(&stacks->sight.tables, &walk.space))
		return 0;
	if (walk.end != VALUE_stack_end_complete)
		ring_count(&stacks->ring, AGENT_COUNT_STACKS_CUT, 1);
	return stack_ids_get(&stacks->ids, writer, &walk, stacks->pid, stacks->fact_ns);
}

static void put(struct launch_stacks *stacks, struct launch_thread *thread, u64 now_ns, u32 stack)
{
	struct record_launch_stack *record =
		stack ? ring_reserve(&thread->writer, sizeof(*record)) : NULL;

	if (!record) {
		ring_count(&stacks->ring,
			   stack ? AGENT_COUNT_RING_FULL : AGENT_COUNT_STACKS_UNKNOWN, 1);
		return;
	}
	memcpy(record, absent_record(KIND_launch_stack), sizeof(*record));
	record->header.ts = now_ns;
	record->header.pid = stacks->pid;
	record->header.tid = thread->tid;
	record->header.stack = stack;
	record->launches = 1;
	record->correlation = thread->correlation;
	ring_commit(&thread->writer, sizeof(*record));
}

/* Of many at a time: all that call share the counters. */
static void count_calls(struct launch_stacks *stacks, struct launch_thread *thread, u64 spent_ns)
{
	ring_count(&stacks->ring, AGENT_COUNT_STACKS, thread->untold);
	ring_count(&stacks->ring, AGENT_COUNT_STACKS_NS, spent_ns * thread->untold);
	thread->untold = 0;
}

/* Of some calls the time is taken, for all that came before: by a clock that is no system call, behind which everything takes longer. In
 * longer ones another thread had the CPU. */
static void take_next(struct launch_stacks *stacks, struct launch_thread *thread,
		      const struct stack_registers *registers)
{
	bool is_timed = ++thread->untold == AGENT_STACKS_TIMED;
	u64 now_ns = system_now_ns(), spent_ns;

	put(stacks, thread, now_ns, take(stacks, &thread->writer, registers, now_ns));
	if (!is_timed)
		return;
	spent_ns = system_now_ns() - now_ns;
	count_calls(stacks, thread, spent_ns < TIMED_MAX_NS ? spent_ns : TIMED_MAX_NS);
}

void launch_stacks_take(struct launch_stacks *stacks, const struct stack_registers *registers,
			u32 correlation)
{
	struct launch_thread *thread;

	if (!is_in_window(stacks->control))
		return;
	thread = launch_threads_enter(&stacks->threads, &stacks->ring);
	if (!thread) {
		ring_count(&stacks->ring, AGENT_COUNT_STACKS_UNKNOWN, 1);
		return;
	}
	/* A call that lies in another one has its correlation id. */
	if (thread->correlation != correlation) {
		thread->correlation = correlation;
		take_next(stacks, thread, registers);
	}
	launch_threads_leave(thread);
}
