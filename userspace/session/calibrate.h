/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What recording costs on this machine, measured on functions of our own before anything is attached: CPU time of
 * the thread that makes the call, or that waits.
 */
#ifndef GPUPROBE_SESSION_CALIBRATE_H
#define GPUPROBE_SESSION_CALIBRATE_H

#include "collect/bpf/bpf_source.h"

#define CALIBRATION_STACK_DEPTH 16 /* frames */
#define CALIBRATION_RETURNS	(VALUE_returns_emulated + 1)

struct calibration {
	/* By how returns are seen (VALUE_returns_*): an entry, its first instruction cheap, and an exit. The record of a
	 * call is part of its exit, and of an entry where there are no exits. 0: not had on this kernel. */
	u64 entry_ns[CALIBRATION_RETURNS], exit_ns[CALIBRATION_RETURNS];
	u64 stepped_ns;	  /* what a single-stepped instruction adds */
	u64 record_ns;	  /* what of all this the record is */
	u64 count_ns;	  /* what counting the call costs instead */
	u64 stack_ns;	  /* a stack of CALIBRATION_STACK_DEPTH frames, by frame pointers */
	u64 inherited_ns; /* a hit in a forked child that is no target */
	/* What the kernel takes for a hit of a probe, without any program of ours: where its instruction is cheap, where it is
	 * single-stepped, and for the return by trampoline. */
	u64 trap_ns, trap_stepped_ns, trap_return_ns;
	u64 tick_ns;	  /* what an interrupt by a clock takes from the thread that runs */
	u64 took_ns;	  /* to find all this out */
};

struct calibration_wishes {
	u32 returns; /* VALUE_returns_* of the functions that are to be recorded, a bit each; 0: none are */
	bool counts; /* calls of some are only counted */
	bool traps;  /* hits of other probes are to be priced */
	bool ticks;  /* the same of samples */
};

/* Only what the wishes need. Takes some 10 ms. Nothing of it stays, no target, no record, but the probes of our own functions in
 * links, for the caller to take off: that takes the kernel some 50 ms. Errors are not fatal for a recording: without figures there is no
 * estimate. */
int calibrate(struct bpf_source *source, const struct kernel_abilities *abilities,
	      const struct calibration_wishes *wishes, struct uprobe_set *links,
	      struct calibration *ret_calibration, struct err *err);

/* Nanoseconds that these hits of a function cost. */
u64 calibration_cost_ns(const struct calibration *calibration, const struct plan_function *function,
			const struct probe_hits *hits);

/* The same of probes that are no functions' of the plan: of what is counted as hits, without what the programs take. */
u64 calibration_trap_cost_ns(const struct calibration *calibration, const struct price_hits *hits);

#endif
