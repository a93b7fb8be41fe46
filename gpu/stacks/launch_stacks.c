/* SPDX-License-Identifier: MIT */
#include "launch_stacks.h"

#include <string.h>

#include "../base/absent.h"
#include "../base/system.h"

#define TIMED_MAX_NS 20000

struct launch_stacks *launch_stacks_open(struct agent_control *control, const struct ring *ring,
					 u64 mapped_bytes)
{
	u64 before = AGENT_CONTROL_BYTES + (u64)ring->chunk_count * AGENT_CHUNK_BYTES;
	struct launch_stacks *stacks = mapped_bytes > before ? system_map(sizeof(*stacks)) : NULL;

	if (!stacks)
		return NULL;
	stacks->control = control;
	stacks->ring = *ring;
	stacks->pid = system_pid();
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
	struct stack_tables *tables = &walk->sight->tables;
	u64 called = 0;

	while (walk->depth < STACK_WALK_DEPTH_MAX &&
	       stack_tables_find(tables, &walk->space, walk->at.ip - 1) & STACK_TABLES_OF_CUDA) {
		called = walk->at.ip - 1;
		if (!stack_walk_next(walk))
			return false;
	}
	stack_walk_forget(walk);
	if (called)
		stack_walk_put(walk, called);
	return true;
}

/* What of the shared tables an interpreter's frames are read by. */
struct python_sight {
	u32 filled;
	struct python_reader reader;
};

static struct python_sight python_begin(struct launch_stacks *stacks, struct ring_writer *writer,
					const struct stack_walk *walk, struct launch_past *past)
{
	const struct agent_tables *tables = stacks->sight.tables.shared;
	u32 filled = __atomic_load_n(&tables->pythons_filled, __ATOMIC_ACQUIRE);
	struct code_past *codes = &past->codes;

	if (!code_past_begin(codes, filled, &tables->pythons[filled % 2]))
		python_past_forget(&past->python);
	return (struct python_sight){
		.filled = filled,
		.reader = {.memory = &stacks->sight.memory,
			   .moment = walk->moment,
			   .process = codes->process.code_type ? &codes->process : NULL,
			   .codes = &stacks->codes,
			   .past = codes,
			   .writer = writer,
			   .first_number = tables->first_code,
			   .pid = stacks->pid},
	};
}

/* Was what it has read there until now? The next one is filled into the other place. */
static bool python_lasts(const struct launch_stacks *stacks, const struct python_sight *python)
{
	return __atomic_load_n(&stacks->sight.tables.shared->pythons_filled, __ATOMIC_RELAXED) ==
	       python->filled;
}

/* To its end, along the last one. Is it the same stack? Then it has that one's id, and its addresses are not filled in. */
static bool walk_on(struct stack_walk *walk, struct launch_past *past, bool is_same_python, u32 id)
{
	u64 called = walk->depth ? walk->addresses[0] : 0;

	walk->python = past->frames.count ? &past->frames : NULL;
	if (id && is_same_python && called == past->called &&
	    stack_walk_is_same(walk, &past->stack, past->end))
		return true;
	past->called = called;
	stack_walk_follow(walk, &past->stack);
	while (stack_walk_next(walk))
		;
	past->end = walk->end;
	return false;
}

static enum stack_sent walk_stack(struct launch_stacks *stacks, struct launch_thread *thread,
				  struct stack_walk *walk, u64 now_ns, u32 *ret_id)
{
	struct ring_writer *writer = &thread->writer;
	struct launch_past *past = &stacks->pasts[thread - stacks->threads.threads];
	struct python_sight python = python_begin(stacks, writer, walk, past);
	enum stack_sent sent = STACK_SENT;
	bool is_same;

	*ret_id = past->id;
	/* Who leaves here in its middle (a signal handler that ends the thread) leaves none. */
	past->id = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	is_same = python_frames_read(&past->frames, &python.reader, &past->python);
	is_same = walk_on(walk, past, is_same, *ret_id);
	if (!stack_tables_space_lasts(&stacks->sight.tables, &walk->space) ||
	    !python_lasts(stacks, &python))
		return STACK_NO_PLACE;
	if (!is_same)
		sent = stack_ids_get(&stacks->ids, writer, walk, stacks->pid, now_ns, ret_id);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (sent == STACK_SENT)
		past->id = *ret_id;
	return sent;
}

/* The id of the stack; 0: there is none, which is counted. */
static u32 take(struct launch_stacks *stacks, struct launch_thread *thread,
		const struct stack_registers *registers, u64 now_ns)
{
	enum stack_sent sent = STACK_NO_PLACE;
	struct stack_walk walk;
	u32 id = 0;

	if (stack_walk_begin(&walk, &stacks->sight, now_ns, registers) && leave_cuda(&walk))
		sent = walk_stack(stacks, thread, &walk, now_ns, &id);
	if (sent == STACK_SENT) {
		if (walk.end != VALUE_stack_end_complete)
			ring_count(&stacks->ring, AGENT_COUNT_STACKS_CUT, 1);
		return id;
	}
	ring_count(&stacks->ring,
		   sent == STACK_RING_FULL ? AGENT_COUNT_RING_FULL : AGENT_COUNT_STACKS_UNKNOWN, 1);
	return 0;
}

static void put(struct launch_stacks *stacks, struct launch_thread *thread, u64 now_ns, u32 stack)
{
	struct record_launch_stack *record;

	if (!stack)
		return;
	record = ring_reserve(&thread->writer, sizeof(*record));
	if (!record) {
		ring_count(&stacks->ring, AGENT_COUNT_RING_FULL, 1);
		return;
	}
	memcpy(record, absent_record(KIND_launch_stack), sizeof(*record));
	record->header.ts = now_ns;
	record->header.pid = stacks->pid;
	record->header.tid = thread->tid;
	record->header.stack = stack;
	record->launches = 1;
	record->call_correlation = thread->correlation;
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

	put(stacks, thread, now_ns, take(stacks, thread, registers, now_ns));
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
