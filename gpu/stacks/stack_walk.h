/* SPDX-License-Identifier: MIT */
/*
 * The stack of the calling thread, by the tables that gpuprobe shares: what bpf/unwind.h does from outside. Any thread, at once; it needs no
 * memory but what it is given, no lock, and no call of the target's. Where a word misleads, the stack is cut.
 */
#ifndef GPUPROBE_GPU_STACK_WALK_H
#define GPUPROBE_GPU_STACK_WALK_H

#include "python_frames.h"
#include "stack_memory.h"
#include "stack_past.h"
#include "stack_tables.h"

#define STACK_WALK_DEPTH_MAX 127U

/* What a walk goes by; of the agent. */
struct stack_sight {
	struct stack_memory memory;
	struct stack_tables tables;
};

struct stack_walk {
	struct stack_sight *sight;
	struct stack_space space;
	struct stack_trace trace;
	struct python_frames *python; /* NULL: there are none; their places are told by it */
	u32 moment;
	struct stack_registers at;
	bool exact; /* ip is that of an instruction, not a return address */
	bool is_guess;
	u32 end; /* enum of record.def: stack_end; 0: it goes on */
	u32 depth;
	u32 guessed;	/* so many callers were, */
	u64 guesses[2]; /* by their places, a bit each */
	u64 addresses[STACK_WALK_DEPTH_MAX];
};

/* Without frames of Python, and without the past of the thread; who has some sets them. False: it is not known what the process maps. */
bool stack_walk_begin(struct stack_walk *walk, struct stack_sight *sight, u64 now_ns,
		      const struct stack_registers *registers);
/* Puts the place where the walk is among the addresses, or, for the loop of Python's interpreter, the frames that it ran, and goes on to its
 * caller. False: the walk has ended. */
bool stack_walk_next(struct stack_walk *walk);
/* From here on the past of the thread is looked at, and replaced when the walk ends. */
void stack_walk_follow(struct stack_walk *walk, struct stack_past *past);
/* Instead of that and the next ones: does the last walk along this past, which began with the same addresses and the same frames of Python, and had this
 * end, say where this one goes? Then it has ended. False: nothing was done. */
bool stack_walk_is_same(struct stack_walk *walk, const struct stack_past *past, u32 end);
/* An address that stands behind those that there are; there must be room for it. */
void stack_walk_put(struct stack_walk *walk, u64 address);
/* What it came by until now. */
void stack_walk_forget(struct stack_walk *walk);

#endif
