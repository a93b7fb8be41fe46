/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What depends on the processor on the attaching side: the registers and the breakpoint of a traced process. */
#ifndef GPUPROBE_PROCESS_ARCH_X86_64_H
#define GPUPROBE_PROCESS_ARCH_X86_64_H

#include <linux/audit.h>
#include <sys/types.h>

#include "base/types.h"

/* Of its system calls, as seccomp has it. Beside them x86-64 has others, from this number on. */
#define ARCH_AUDIT	      AUDIT_ARCH_X86_64
#define ARCH_OTHER_CALLS_FROM 0x40000000U

/* word with a breakpoint instruction in place of its first bytes. */
long arch_word_with_breakpoint(long word);
/* The traced, stopped thread has run into a breakpoint at address: makes address its next instruction.
 * False when it has not. */
bool arch_rewind_breakpoint(pid_t tid, u64 address);
/* Does this system call end with EINTR by any stop, if only of some files, having done nothing then (signal(7))? */
bool arch_call_ends_by_stop(long call);
/* The traced thread was stopped inside a system call: makes it begin again one that the stop alone would end with
 * EINTR, unless a signal handler runs first. */
void arch_restart_call(pid_t tid);

#endif
