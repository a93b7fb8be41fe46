/* SPDX-License-Identifier: MIT */
/*
 * How a thread's last walk went on from each place that it came to. The outer frames of the next one are mostly the same: where it comes to a
 * place with the same registers, it goes on as the last one did, for as long as the words that led there are what they were. So what is
 * noted here need not be true: it is compared with the stack. A thread touches its own only.
 */
#ifndef GPUPROBE_GPU_STACK_PAST_H
#define GPUPROBE_GPU_STACK_PAST_H

#include "../base/types.h"

#define STACK_PAST_STEPS 128U /* more than a walk has */

/* Where a walk begins: at what a call will return to. */
struct stack_registers {
	u64 ip, sp, bp, bx;
};

static inline bool stack_registers_are_same(const struct stack_registers *a,
					    const struct stack_registers *b)
{
	return a->ip == b->ip && a->sp == b->sp && a->bp == b->bp && a->bx == b->bx;
}

#define STACK_STEP_WORDS 3U

/* From a place to its caller, which is the next one. */
struct stack_step {
	struct stack_registers at;
	/* The words that, with the table of the code, tell the caller's ip, rbp and rbx, and where they were read: the ip's is the last one of them, the lowest
	 * one comes last. Of a register that is the same there it is another one again. 0: more than that is needed to go on. */
	u64 places[STACK_STEP_WORDS], words[STACK_STEP_WORDS];
};

struct stack_past {
	u32 filled;				   /* of the space of mappings in which that was */
	u32 first;				   /* the innermost; those from there on */
	struct stack_step steps[STACK_PAST_STEPS]; /* the outermost is the last */
	/* Of a walk that is under way, the innermost first: */
	struct stack_step made[STACK_PAST_STEPS];
};

/* On the way along it. */
struct stack_trace {
	struct stack_past *past; /* NULL: there is none */
	u32 next;		 /* the first that may be where the walk is */
	u32 kept; /* from this one on all were the same, who goes along them sets it; STACK_PAST_STEPS: no one */
	u32 made; /* steps before that */
};

/* filled: of the space in which the walk is. past NULL: none. */
struct stack_trace stack_trace_begin(struct stack_past *past, u32 filled);
/* The one at these registers; STACK_PAST_STEPS: there is none. */
u32 stack_trace_find(struct stack_trace *trace, const struct stack_registers *at);
/* The walk went from this one to that one, from which on it goes by itself. */
void stack_trace_went(struct stack_trace *trace, u32 from, u32 to);
/* A step that the walk goes by itself, to be filled in; NULL: it is not noted. */
struct stack_step *stack_trace_step(struct stack_trace *trace);
/* The walk has ended. */
void stack_trace_end(struct stack_trace *trace);

#endif
