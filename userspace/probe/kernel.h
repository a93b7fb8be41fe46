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
	bool uprobe_multi;   /* one link for many functions (Linux 6.6) */
	bool uprobe_session; /* entry and return in one program that chooses call by call (6.13) */
	bool set_registers;  /* a program may do what the probed instruction does (6.19) */
	char release[65];    /* uname */
};

/* Loads and links nothing that stays. -EPERM, -ENOSYS, ... with what to do when BPF itself is refused or
 * missing, or the kernel has no BTF. */
int kernel_abilities_probe(struct kernel_abilities *ret_abilities, struct err *err);
/* Does this kernel turn a probed nop of five bytes into a call, which writes below the stack pointer (6.18, 6.19)? Tried
 * with a link on a function of our own. */
bool kernel_writes_below_stack(void);

#endif
