/* SPDX-License-Identifier: MIT */
#include "python_past.h"

#include <string.h>

void python_past_forget(struct python_past *past)
{
	past->count = 0;
}

void python_trace_begin(struct python_trace *trace, struct python_past *past)
{
	trace->past = past;
	trace->first = trace->kept = PYTHON_PAST_STEPS;
	trace->made = 0;
	trace->looks = PYTHON_PAST_LOOKS;
	trace->is_full = false;
	if (past) {
		trace->first = PYTHON_PAST_STEPS - past->count;
		/* Who leaves the walk in its middle (a signal handler that ends the thread) leaves none. */
		past->count = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	trace->next = trace->first;
}

u32 python_trace_find(struct python_trace *trace, u64 at)
{
	for (u32 i = trace->next; i < PYTHON_PAST_STEPS && trace->looks; i++, trace->looks--)
		if (trace->past->steps[i].at == at)
			return trace->next = i;
	return PYTHON_PAST_STEPS;
}

void python_trace_went(struct python_trace *trace, u32 from, u32 to)
{
	trace->next = to;
	if (to == PYTHON_PAST_STEPS) {
		trace->kept = from;
		return;
	}
	for (u32 i = from; i < to; i++)
		*python_trace_step(trace) = trace->past->steps[i];
}

struct python_step *python_trace_step(struct python_trace *trace)
{
	if (trace->past && trace->made < PYTHON_PAST_STEPS)
		return &trace->past->made[trace->made++];
	trace->is_full = true;
	return &trace->spare;
}

bool python_trace_end(struct python_trace *trace, bool whole)
{
	struct python_past *past = trace->past;
	u32 count = trace->made + PYTHON_PAST_STEPS - trace->kept;

	if (!past || !whole || trace->is_full || count > PYTHON_PAST_STEPS)
		return false;
	memcpy(&past->steps[trace->kept - trace->made], past->made,
	       trace->made * sizeof(past->made[0]));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	past->count = count;
	return !trace->made && trace->kept == trace->first;
}
