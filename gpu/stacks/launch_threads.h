/* SPDX-License-Identifier: MIT */
/*
 * Threads that call CUDA, and what each keeps from one call to the next: its id, and, of some, the chunk of the ring that it writes in. A
 * thread touches its own only. Memory is bounded; those for which there is no room go without.
 */
#ifndef GPUPROBE_GPU_LAUNCH_THREADS_H
#define GPUPROBE_GPU_LAUNCH_THREADS_H

#include "../base/ring.h"

#define LAUNCH_THREADS_MAX 256U

struct launch_thread {
	u64 self; /* what is a thread's own as long as it lives; 0: nobody's */
	u32 tid;  /* as the target sees it */
	bool keeps;	/* the chunk; others give it back */
	bool tells_tid; /* libc's data about it has the tid where this one was found */
	bool busy; /* it is at work: a handler of a signal may come in between */
	u32 correlation; /* of its last call */
	u32 untold;	 /* calls since those of all were counted */
	struct ring_writer writer;
} __attribute__((aligned(64)));

struct launch_threads {
	u32 keeping; /* so many keep their chunk */
	struct launch_thread threads[LAUNCH_THREADS_MAX];
};

/* The calling thread's; NULL: there is no room, or it is busy. */
struct launch_thread *launch_threads_enter(struct launch_threads *threads, const struct ring *ring);
void launch_threads_leave(struct launch_thread *thread);
/* What all of them hold of the ring. Nobody may be at work any more. */
void launch_threads_release(struct launch_threads *threads);

#endif
