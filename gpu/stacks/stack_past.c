/* SPDX-License-Identifier: MIT */
#include "stack_past.h"

#include <string.h>

struct stack_trace stack_trace_begin(struct stack_past *past, u32 filled)
{
	struct stack_trace trace = {.past = past, .kept = STACK_PAST_STEPS};

	if (!past)
		return trace;
	/* In another space the same addresses may be other code. */
	if (past->filled != filled)
		past->first = STACK_PAST_STEPS;
	past->filled = filled;
	trace.next = past->first;
	/* Who leaves the walk in its middle (a signal handler that ends the thread) leaves none. */
	past->first = STACK_PAST_STEPS;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return trace;
}

u32 stack_trace_find(struct stack_trace *trace, const struct stack_registers *at)
{
	const struct stack_step *steps = trace->past->steps;

	while (trace->next < STACK_PAST_STEPS && steps[trace->next].at.sp < at->sp)
		trace->next++;
	return trace->next < STACK_PAST_STEPS &&
			       stack_registers_are_same(&steps[trace->next].at, at)
		       ? trace->next
		       : STACK_PAST_STEPS;
}

void stack_trace_went(struct stack_trace *trace, u32 from, u32 to)
{
	for (u32 i = from; i < to; i++) {
		struct stack_step *step = stack_trace_step(trace);

		if (step)
			*step = trace->past->steps[i];
	}
}

struct stack_step *stack_trace_step(struct stack_trace *trace)
{
	/* What is behind the place from which on all was the same is there. */
	if (!trace->past || trace->kept < STACK_PAST_STEPS || trace->made == STACK_PAST_STEPS)
		return NULL;
	return &trace->past->made[trace->made++];
}

void stack_trace_end(struct stack_trace *trace)
{
	struct stack_past *past = trace->past;
	u32 first = trace->made <= trace->kept ? trace->kept - trace->made : STACK_PAST_STEPS;

	if (!past)
		return;
	if (first < trace->kept)
		memcpy(&past->steps[first], past->made, trace->made * sizeof(past->made[0]));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	past->first = first;
}
