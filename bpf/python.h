/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of Python of a thread: of the current one, whose own chain of frames and the code objects in it stay as they are meanwhile, with
 * the lock of the interpreter or without it; or of one that sleeps (UNWIND_OTHERS), which may wake up at any moment: then what was read
 * counts only if it has not.
 *
 * A call of the interpreter's loop (_PyEval_EvalFrameDefault) runs one frame of Python or several. Where on the C stack that call is
 * the interpreter tells, by an object that lies there: so the walk of the C stack (stacks.h) knows where these frames belong.
 */
#ifndef GPUPROBE_BPF_PYTHON_H
#define GPUPROBE_BPF_PYTHON_H

#include "python_code.h"

static __always_inline void python_put(struct python_walk *walk, u64 word)
{
	u64 place = walk->count;

	OPAQUE(place);
	place &= PYTHON_DEPTH_MAX - 1;
	walk->words[place] = word;
	walk->places[place] = walk->count == walk->first ? PYTHON_PLACE_UNKNOWN : 0;
	walk->count++;
}

/* What follows is not known. */
static __always_inline long python_unreadable(const struct python_state *state)
{
	python_put(state->walk, PYTHON_UNREADABLE);
	state->walk->unreadable++;
	return 1;
}

/* Where the frames from first on belong is known. */
static __always_inline void python_call_ends(struct python_walk *walk, u64 place)
{
	u64 first = walk->first;

	if (walk->first == walk->count)
		return;
	OPAQUE(first);
	walk->places[first & (PYTHON_DEPTH_MAX - 1)] = place;
	walk->first = walk->count;
}

/* The frame read last is the outermost one of its call of the loop, by its own word. The C frame of the next one refers to the frame that
 * follows, unless this one was being made. 0 or -1. */
static __always_inline int python_next_call(const struct python_state *state, u64 previous)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;

	python_call_ends(walk, walk->cframe);
	if (!previous)
		return 0;
	if (unwind_copy(state->task, &walk->value, sizeof(walk->value),
			walk->cframe + layout->cframe_previous) ||
	    unwind_copy(state->task, &walk->other, sizeof(walk->other),
			walk->value + layout->cframe_frame) ||
	    walk->other != previous)
		return -1;
	walk->cframe = walk->value;
	return 0;
}

/* Which instruction it stands at, in code units. */
static __always_inline s64 frame_unit(const struct python_state *state, u64 code)
{
	const struct python_layout *layout = &state->process->layout;
	u64 word = frame_word(state->walk, layout->frame_instruction);

	if (!layout->code_bytes)
		return (s32)word >> (layout->instruction_shift & 1);
	return (s64)(word - code - layout->code_bytes) >> 1;
}

/* One that has not begun is left out, as Python does: what enters a function is its caller's, and so is what only cleans up behind it. */
static __always_inline void python_put_frame(struct python_state *state, u8 owner)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;
	u64 code = PYTHON_CODE_OF_FRAME(frame_word(walk, layout->frame_code));
	s64 unit;

	if (code != walk->code) {
		walk->code = code;
		if (!code_is_seen(walk, code))
			look_at_code(state, code);
	}
	if (!walk->code_id) {
		python_unreadable(state);
		return;
	}
	/* Not before: there is hardly room for it on the program's stack. */
	unit = frame_unit(state, walk->code);
	if (layout->code_first_traced && owner != PYTHON_OWNED_BY_GENERATOR &&
	    unit < walk->first_traced)
		return;
	/* One that has executed nothing stands before its first instruction. */
	unit++;
	if (unit < 0 || unit > (s64)PYTHON_INSTRUCTION_MAX)
		unit = 0;
	python_put(walk, PYTHON_FRAME_OF(walk->code_id, unit));
}

/* Frames of calls lie behind each other, the outer ones before the inner ones: where the next ones are likely to be on the same page it is
 * read up to this one. 0 or -1. */
static __always_inline int read_frame(const struct python_state *state, u64 at)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;
	u64 place = at % ARCH_PAGE_BYTES, size;
	bool is_near = walk->last ? walk->last - at < PYTHON_NEAR_BYTES
				  : !PYTHON_FRAMES_ARE_OBJECTS(layout);

	if (at % 8)
		return -1;
	walk->last = at;
	if (at - walk->page_at <= walk->page_end - walk->page_at) {
		walk->base = place / 8;
		return 0;
	}
	if (is_near && place < ARCH_PAGE_BYTES - PYTHON_FRAME_OBJECT_BYTES) {
		size = place + PYTHON_FRAME_OBJECT_BYTES;
		OPAQUE(size);
		if (!unwind_copy(state->task, walk->page, size & (ARCH_PAGE_BYTES - 1), at - place)) {
			walk->page_at = at - place;
			walk->page_end = at;
			walk->base = place / 8;
			return 0;
		}
	}
	walk->page_at = walk->page_end = PAGE_NONE;
	walk->base = 0;
	return unwind_copy(state->task, walk->page, layout->frame_bytes & 127, at) ? -1 : 0;
}

/* C frames lie on the stack, the outer ones behind the inner ones: where no code object was read since, the next ones are in the piece. */
static __always_inline int read_cframe(const struct python_state *state, u64 at)
{
	struct python_walk *walk = state->walk;
	u64 place = at - walk->stack_at;

	if (place > PYTHON_PIECE_BYTES - 8 || place % 8) {
		if (unwind_copy(state->task, walk->piece, PYTHON_PIECE_BYTES, at))
			return unwind_copy(state->task, &walk->cframe, sizeof(walk->cframe), at);
		walk->stack_at = at;
		place = 0;
	}
	place /= 8;
	OPAQUE(place);
	walk->cframe = walk->piece[place & (PYTHON_PIECE_WORDS - 1)];
	return 0;
}

/* The frame read last is the only one of its call of the loop. */
static __always_inline void python_object_ends(const struct python_state *state)
{
	struct python_walk *walk = state->walk;

	python_call_ends(walk, walk->cframe);
	if (walk->cframe != PYTHON_PLACE_UNKNOWN &&
	    read_cframe(state, walk->cframe + state->process->layout.cframe_previous))
		walk->cframe = PYTHON_PLACE_UNKNOWN;
}

static long python_next(u32 index, struct python_state *state)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;
	u64 at = walk->frame, owner, previous;

	if (!at || walk->count >= PYTHON_DEPTH_MAX - 1)
		return 1;
	if (read_frame(state, at))
		return python_unreadable(state);
	owner = frame_byte(walk, layout->frame_owner);
	previous = frame_word(walk, layout->frame_previous);
	walk->frame = previous;
	if (layout->boundary == PYTHON_BOUNDARY_SHIM && owner >= PYTHON_OWNED_BY_C) {
		python_call_ends(walk, at);
		return 0;
	}
	python_put_frame(state, owner);
	if (PYTHON_FRAMES_ARE_OBJECTS(layout))
		python_object_ends(state);
	else if (layout->boundary == PYTHON_BOUNDARY_ENTRY &&
		 frame_byte(walk, layout->frame_entry) && python_next_call(state, previous))
		return python_unreadable(state);
	return 0;
}

#define PYTHON_FOLLOWED_A_STEP 16 /* a step takes longer than one of them */

/* Some that are not taken any more: a frame without code says where the call of the loop is that ran them. */
static long python_follow(u32 index, struct python_state *state)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;

	for (u32 i = 0; i < PYTHON_FOLLOWED_A_STEP; i++) {
		u64 at = walk->frame;

		if (!at || read_frame(state, at))
			return 1;
		if (frame_byte(walk, layout->frame_owner) >= PYTHON_OWNED_BY_C) {
			python_call_ends(walk, at);
			return 1;
		}
		walk->frame = frame_word(walk, layout->frame_previous);
	}
	return 0;
}

/* As many as are taken there are. Those of the last call, the innermost ones mostly, belong where it is all the same. */
static __always_inline void python_place_last(struct python_state *state)
{
	const struct python_layout *layout = &state->process->layout;
	struct python_walk *walk = state->walk;

	if (walk->count < PYTHON_DEPTH_MAX - 1 || walk->first == walk->count)
		return;
	if (layout->boundary == PYTHON_BOUNDARY_ENTRY)
		python_call_ends(walk, walk->cframe);
	else if (layout->boundary == PYTHON_BOUNDARY_SHIM)
		bpf_loop(PYTHON_FOLLOWED_MAX / PYTHON_FOLLOWED_A_STEP, python_follow, state, 0);
}

/* The state of the thread. 0: it has none. */
static __always_inline u64 python_thread(const struct python_state *state, u64 pointer)
{
	const struct python_process *process = state->process;
	struct python_walk *walk = state->walk;
	u64 thread, block = pointer;

	for (u32 i = 0; i < PYTHON_SLOT_POINTERS && i < process->slot_pointers; i++) {
		if (unwind_copy(state->task, &walk->value, sizeof(walk->value),
				block + process->slot_pointer[i]))
			return 0;
		block = walk->value;
	}
	if (unwind_copy(state->task, &walk->value, sizeof(walk->value),
			block + process->thread_slot))
		return 0;
	thread = walk->value;
	/* In a subinterpreter it has another one. */
	if (process->current &&
	    !unwind_copy(state->task, &walk->value, sizeof(walk->value), process->current) &&
	    walk->value && walk->value != thread &&
	    !unwind_copy(state->task, &walk->other, sizeof(walk->other),
			 walk->value + process->layout.thread_id) &&
	    walk->other == pointer)
		return walk->value;
	return thread;
}

/* The frame that it runs, and what tells where that is; false: none, or it is no state of this thread. */
static __noinline bool python_begin(const struct python_state *state)
{
	const struct python_layout *layout;
	struct python_walk *walk;
	u64 pointer, thread;

	if (!state || !state->walk || !state->process)
		return false;
	walk = state->walk;
	layout = &state->process->layout;
	pointer = arch_thread_pointer(state->task);
	thread = python_thread(state, pointer);
	/* What lies there when an interpreter has ended is another's. */
	if (!thread ||
	    unwind_copy(state->task, walk->code_words, PYTHON_THREAD_BYTES, thread) ||
	    code_word(walk, layout->thread_id) != pointer)
		return false;
	walk->frame = code_word(walk, layout->thread_frame);
	walk->cframe = walk->frame;
	walk->loop = state->process->loop;
	walk->loop_cold = state->process->loop_cold;
	if (PYTHON_FRAMES_ARE_OBJECTS(layout))
		walk->cframe = layout->thread_cframe ? code_word(walk, layout->thread_cframe)
						     : PYTHON_PLACE_UNKNOWN;
	else if (layout->cframe_previous &&
		 unwind_copy(state->task, &walk->frame, sizeof(walk->frame),
			     walk->cframe + layout->cframe_frame))
		walk->frame = 0;
	return walk->frame != 0;
}

/* A probe that names a process is the kernel's to keep only while its first thread lives. */
static __always_inline u64 generation_of(const struct python_process *process,
					 const struct task_struct *task)
{
	return task->group_leader->flags & PF_EXITING ? 0 : process->generation;
}

/* What of Python the thread is in. */
static __noinline int python_take(struct python_walk *walk, struct task_struct *task, u32 pid,
				  u32 interrupts)
{
	struct python_state state = {.walk = walk, .task = task};

	if (!walk)
		return 0;
	walk->count = walk->next = walk->copying = walk->first = 0;
	walk->pid = pid;
	state.process = bpf_map_lookup_elem(&python_processes, &walk->pid);
	walk->page_at = walk->page_end = PAGE_NONE;
	walk->stack_at = 0;
	walk->unreadable = 0;
	walk->last = 0;
	walk->code = 0;
	walk->code_id = 0;
	walk->loop.end = 0;
	walk->interrupts = interrupts;
#ifdef UNWIND_OTHERS
	walk->switches = switches_of(task);
#endif
	if (!state.process)
		return 0;
	/* Before anything is read of what may end meanwhile. */
	walk->generation = generation_of(state.process, task);
	if (python_begin(&state)) {
		bpf_loop(PYTHON_STEPS, python_next, &state, 0);
		python_place_last(&state);
	}
	if (walk->unreadable && python_stays(&state))
		count_losses(VALUE_loss_reason_python_unreadable, walk->unreadable);
	return 0;
}

static __always_inline bool is_within(const struct python_extent *extent, u64 address)
{
	return address - extent->start < extent->end - extent->start;
}

/* Do the next ones belong to the call that was just left, at this address, so that the C stack goes on at sp? */
static __always_inline bool python_is_due(const struct python_walk *walk, u64 address, u64 sp)
{
	u64 next = walk->next;

	if (walk->next >= walk->count)
		return false;
	/* A return address may be where the next function begins. */
	if (walk->loop.end)
		return is_within(&walk->loop, address - 1) ||
		       is_within(&walk->loop_cold, address - 1);
	OPAQUE(next);
	return walk->places[next & (PYTHON_DEPTH_MAX - 1)] < sp;
}

/* Takes the next one out. */
static __always_inline u64 python_get(struct python_walk *walk)
{
	u64 next = walk->next++, following = next + 1;
	bool ends = walk->next >= walk->count;

	OPAQUE(next);
	OPAQUE(following);
	if (ends || (walk->copying == PYTHON_COPY_CALL &&
		     walk->places[following & (PYTHON_DEPTH_MAX - 1)]))
		walk->copying = PYTHON_COPY_NONE;
	return walk->words[next & (PYTHON_DEPTH_MAX - 1)];
}

#endif
