/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One breakpoint of the processor, for one thread and one hit: nothing in the target's memory is written for it, and the kernel takes it back
 * when its descriptor is closed, or we die. At the hit the thread is sent a signal that nobody minds, which whoever traces it sees as a stop
 * there; one that is not traced any more ignores it. One that has blocked it meanwhile, in what it comes back from, has it pending, as it would have
 * one that anybody sends.
 */
#ifndef GPUPROBE_INJECT_INJECT_BREAKPOINT_H
#define GPUPROBE_INJECT_INJECT_BREAKPOINT_H

#include "base/types.h"

struct inject_breakpoint {
	int fd;	    /* -1: it was cleared */
	int number; /* what it was */
	int signal_number;
};

/* tid: traced, else the signal is lost. 0 or -errno: there are no such breakpoints here, or no more of them; -EPERM: only root may; -EBUSY: it blocks or handles the signals
 * that could be taken. */
int inject_breakpoint_set(u32 pid, u32 tid, u64 address, struct inject_breakpoint *ret_breakpoint);
/* Is the stop of the thread, for this signal, that of the hit? */
bool inject_breakpoint_is_hit(const struct inject_breakpoint *breakpoint, u32 tid, int signal_number);
/* From here on it is not hit any more. What was sent before may yet come. */
void inject_breakpoint_clear(struct inject_breakpoint *breakpoint);

#endif
