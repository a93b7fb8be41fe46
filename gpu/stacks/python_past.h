/* SPDX-License-Identifier: MIT */
/*
 * What stood in each frame of Python that a thread's last walk came by, and what came of it. Where the next walk comes to a frame at the same
 * address it compares, and goes along for as long as all is what it was. So what is noted here need not be true. A thread touches its own only.
 */
#ifndef GPUPROBE_GPU_PYTHON_PAST_H
#define GPUPROBE_GPU_PYTHON_PAST_H

#include "../base/types.h"

#define PYTHON_PAST_STEPS 128U /* a chain that has more is forgotten */
#define PYTHON_PAST_LOOKS \
	256U /* so many are looked at in a walk for where it goes on like the last one */

/* A frame; a line of the cache. */
struct python_step {
	u64 at;
	/* As it stands there: */
	u64 previous, code, instruction;
	/* What came of it: */
	u64 word;			/* put; 0: none */
	u64 place;			/* of the call of the loop, where that ends with it */
	u32 slot;			/* of its code object in code_past; */
#define PYTHON_STEP_NO_CODE 0xffffffffU /* it has none, */
#define PYTHON_STEP_UNKNOWN 0xfffffffeU /* or is looked at anew each time */
	u8 owner, is_entry;		/* as they stand there */
	bool ends_call;
	u8 pad[9];
};
_Static_assert(sizeof(struct python_step) == 64, "a line of the cache");

struct python_past {
	struct python_step steps[PYTHON_PAST_STEPS]; /* the outermost is the last */
	/* Of a walk that is under way, the innermost first: */
	struct python_step made[PYTHON_PAST_STEPS];
	u32 count; /* of steps: a whole chain; 0: there is none */
};

/* On the way along it. */
struct python_trace {
	struct python_past *past; /* NULL: there is none */
	struct python_step spare; /* that is not kept */
	u32 first;		  /* of those that there were; PYTHON_PAST_STEPS: there was none */
	u32 next;		  /* the first that may be where the walk is */
	u32 looks;		  /* that are left */
	u32 kept;		  /* from this one on all were the same; PYTHON_PAST_STEPS: none */
	u32 made;		  /* steps before that */
	bool is_full;
};

void python_past_forget(struct python_past *past);

void python_trace_begin(struct python_trace *trace, struct python_past *past);
/* The one of the frame at this address; PYTHON_PAST_STEPS: there is none. */
u32 python_trace_find(struct python_trace *trace, u64 at);
/* The walk went from this one to that one, or to the end. */
void python_trace_went(struct python_trace *trace, u32 from, u32 to);
/* A step that the walk goes by itself, to be filled in. */
struct python_step *python_trace_step(struct python_trace *trace);
/* The walk has ended, with the whole chain or not. Was all as it was the last time? */
bool python_trace_end(struct python_trace *trace, bool whole);

#endif
