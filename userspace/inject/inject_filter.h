/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process's system call filter (seccomp) would do to the agent. Those of the borrowed thread are held up by
 * ptrace, but the agent's own thread has them like any other.
 */
#ifndef GPUPROBE_INJECT_INJECT_FILTER_H
#define GPUPROBE_INJECT_INJECT_FILTER_H

#include <linux/filter.h>

#include "base/err.h"

/* SECCOMP_MODE_... of one thread: threads may differ. -ESRCH when it has ended. */
int inject_filter_mode(int proc_fd, u32 tid, u32 *ret_mode);
/* Runs one program on a system call without arguments; SECCOMP_RET_..., that of killing for a program that is
 * damaged. */
u32 inject_filter_run(const struct sock_filter *program, size_t count, u32 number);
/* Of the traced and stopped thread. -EOPNOTSUPP: it would be killed at a call that the agent makes, or its filter
 * cannot be read. ret_kills_start: also at one that only the borrowed thread makes, to start the agent's. */
int inject_filter_check(u32 tid, bool *ret_kills_start, struct err *err);
/* Of such a thread: do all of its filters let it make this call (with arguments of 0)? False also where that cannot be told. */
bool inject_filter_allows(u32 tid, u32 number);

#endif
