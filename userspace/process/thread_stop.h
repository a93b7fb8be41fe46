/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stops one thread of another process for a moment, by ptrace; the rest of the process goes on. What the thread
 * waits for it waits for again afterwards: it does not notice. Linux knows tracers by thread: what one thread has
 * stopped only the same thread may let go, and what it could not let go goes on when it ends.
 */
#ifndef GPUPROBE_PROCESS_THREAD_STOP_H
#define GPUPROBE_PROCESS_THREAD_STOP_H

#include "base/types.h"

struct thread_stop {
	u32 tid;
	u32 signal; /* that was about to be delivered: it gets it when it goes on; 0: none */
};

/* Waits for at most timeout_ns. -ESRCH: it has ended; -EPERM: traced by somebody else, or not ours to trace;
 * -ETIMEDOUT: it is in a wait that cannot be interrupted. Then the caller should end soon: until it does, signals
 * to the thread wait for it. */
int thread_stop(u32 tid, u64 timeout_ns, struct thread_stop *ret_stop);
void thread_go_on(const struct thread_stop *stop);

#endif
