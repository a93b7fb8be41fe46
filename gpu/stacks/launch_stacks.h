/* SPDX-License-Identifier: MIT */
/*
 * By what code CUDA is called (--launch-stacks agent): the stack of the thread that begins a call, taken inside of the call where CUPTI tells
 * of it, so without a probe. Any thread, at once; nothing blocks, nothing is allocated.
 */
#ifndef GPUPROBE_GPU_LAUNCH_STACKS_H
#define GPUPROBE_GPU_LAUNCH_STACKS_H

#include "launch_threads.h"
#include "stack_ids.h"

/* What a thread keeps so that it need not find it out at each call; none of it is believed without a look. */
struct launch_past {
	struct code_past codes;
	struct python_past python;
	struct stack_past stack;
	struct python_frames frames;
	u32 id; /* of the last walk's stack, of which nothing is left out; 0: there is none */
	u32 end;
	u64 called; /* the function of CUDA in it; 0: none */
} __attribute__((aligned(64)));

struct launch_stacks {
	struct agent_control *control;
	struct ring ring;
	u32 pid; /* as the target sees it */
	struct stack_sight sight;
	struct stack_ids ids;
	struct launch_threads threads;
	struct launch_past pasts[LAUNCH_THREADS_MAX]; /* of the threads */
	struct code_objects codes;
};

/* mapped_bytes: from control on. NULL: no memory, or nothing to walk by. */
struct launch_stacks *launch_stacks_open(struct agent_control *control, const struct ring *ring,
					 u64 mapped_bytes);
/* Nobody may be in launch_stacks_take() any more. NULL allowed. */
void launch_stacks_close(struct launch_stacks *stacks);

/* A call begins that has this correlation id; those inside of it have the same one and are left out. registers: of who told of it. */
void launch_stacks_take(struct launch_stacks *stacks, const struct stack_registers *registers,
			u32 correlation);

#endif
