/*
 * What depends on the processor on the attaching side: functions of known cost to calibrate with, and the
 * registers and the breakpoint of a traced process.
 */
#ifndef GPUPROBE_PROCESS_ARCH_X86_64_H
#define GPUPROBE_PROCESS_ARCH_X86_64_H

#include <sys/types.h>

#include "base/types.h"

/* Do nothing but return; the first instruction is one that the kernel emulates / single-steps. Of the first one there
 * are copies, one behind the other, so many bytes apart; their return instruction is so far behind their start. */
#define ARCH_CALIBRATE_COPIES	    11
#define ARCH_CALIBRATE_COPY_BYTES   16
#define ARCH_CALIBRATE_RETURN_BYTES 1
void arch_calibrate_cheap(void);
void arch_calibrate_stepped(void);
/* Calls the function so often, below so many frames that are linked by frame pointers. */
void arch_call_deep(void (*function)(void), u32 calls, u32 depth);

/* Returns value, which it keeps below the stack pointer; at the label in it there is a nop of five bytes. */
u64 arch_keep_below_stack(u64 value);
void arch_keep_below_stack_nop(void);

/* word with a breakpoint instruction in place of its first bytes. */
long arch_word_with_breakpoint(long word);
/* The traced, stopped thread has run into a breakpoint at address: makes address its next instruction.
 * False when it has not. */
bool arch_rewind_breakpoint(pid_t tid, u64 address);
/* Does this system call end with EINTR by any stop, having done nothing then (signal(7))? */
bool arch_call_ends_by_stop(long call);
/* The traced thread was stopped inside a system call: makes it begin again one that the stop alone would end with
 * EINTR, unless a signal handler runs first. */
void arch_restart_call(pid_t tid);

#endif
