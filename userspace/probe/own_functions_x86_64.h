/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of gpuprobe's own whose machine code is known to the byte: probes are tried on them, and their cost is
 * calibrated with them.
 */
#ifndef GPUPROBE_PROBE_OWN_FUNCTIONS_X86_64_H
#define GPUPROBE_PROBE_OWN_FUNCTIONS_X86_64_H

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

#endif
