/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this kernel can do for us, found by trying it, not by its version. */
#ifndef GPUPROBE_PROBE_KERNEL_H
#define GPUPROBE_PROBE_KERNEL_H

#include "base/err.h"
#include "base/types.h"

/* What its tracepoints tell of the memory of processes. */
enum kernel_growth {
	KERNEL_GROWTH_NONE,	   /* not all that is needed */
	KERNEL_GROWTH_LOCKS,	   /* who locks an address space */
	KERNEL_GROWTH_LOCKS_NAMED, /* the same, and the name of its cgroup (before 6.13) */
};

struct kernel_abilities {
	enum kernel_growth growth;
	enum kernel_growth locks; /* the same, of the tracepoint of locks alone */
	bool uprobe_multi;   /* one link for many functions (Linux 6.6), which sees all threads of the process that it names */
	bool half_multi;     /* it is there, but sees the first thread alone (probe/multi_filter.h): as if it was not there */
	bool uprobe_session; /* entry and return in one program that chooses call by call (6.13) */
	bool set_registers;  /* a program may do what the probed instruction does (6.19) */
	bool hold_threads;   /* a program may do work on a thread's way back to user mode (6.18) */
	bool other_memory;   /* a program may read the memory of any task (5.18) */
	bool holds_cpu;	     /* no program is in the way of another one of the same CPU: preemption can be held off (6.10), or there is none of the kernel */
	char release[65];    /* uname */
};

/* Loads and links nothing that stays. -EPERM, -ENOSYS, ... with what to do when BPF itself is refused or
 * missing, or the kernel has no BTF. */
int kernel_abilities_probe(struct kernel_abilities *ret_abilities, struct err *err);
/* What becomes of a probed nop of five bytes (docs/uprobes.md), the worst that applies. */
enum kernel_long_nop {
	KERNEL_LONG_NOP_STAYS,
	/* A call, once it was hit, which writes below the stack pointer. */
	KERNEL_LONG_NOP_WRITES,
	/* A call to a page that children of fork() do not get, so that they die of it, or one that stays when the probe has gone
	 * (6.18 to 7.0). */
	KERNEL_LONG_NOP_KILLS,
};

/* Tried with a link on a function of our own, and by a child that calls it: some tens of ms. Where that can't be tried no probe can
 * be put in either. */
enum kernel_long_nop kernel_long_nop_probe(void);

#endif
