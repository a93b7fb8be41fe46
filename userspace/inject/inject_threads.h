/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads of a process may be borrowed, and why not. */
#ifndef GPUPROBE_INJECT_INJECT_THREADS_H
#define GPUPROBE_INJECT_INJECT_THREADS_H

#include "inject/inject.h"

/* Looks at all threads as they are now; fills plan->threads anew, the usable ones first, the best first. */
int inject_threads_find(const struct target *target, struct inject_plan *plan, struct err *err);

/* Is it on a CPU, or about to be, in its own code or in a system call, that does not tell; or does it sleep in one behind which it may be
 * taken, and that nothing interrupts? */
bool inject_thread_runs(const struct target *target, u32 tid);

#endif
