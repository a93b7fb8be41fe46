/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Just before the probes of a plan are put in, and again when they are: do all bytes from where a function begins to the last place in
 * it that is probed still stand in the memory of each target as they do in the file, and the instructions in the file that were decided
 * on? A file may be written to in between, and a process that patches its own code (hooks, live patches) would have the instruction of
 * the file done for it, not the one that it has.
 */
#ifndef GPUPROBE_PLAN_SITE_CHECK_H
#define GPUPROBE_PLAN_SITE_CHECK_H

#include "plan/plan.h"

struct site_changes {
	size_t count; /* functions and places of USDT probes that are left out */
	char first[512]; /* of one of them: what, where, why; escaped for the terminal */
};

/*
 * Sets `changed` of functions and places of USDT probes, and adds them to *changes. Of a function that is seen to return at its exits
 * all go together. Memory that can't be read is not compared, and pages that are the file's own need not be
 * (plan/code_memory.h): a ms for a thousand places where nobody has put a probe in or patched anything. 0 or -ENOMEM.
 */
int site_check(const struct plan *plan, const struct target *targets, size_t target_count,
	       struct site_changes *changes);

/*
 * The same for the starts of functions that are probed beside a plan: decided on as the file has them now. Takes those that differ
 * in the memory of the target, or can't be read, or are nops of five bytes where this kernel makes something deadly of those, out of
 * offsets and cookies. 0 or -ENOMEM.
 */
struct site_offsets {
	const char *path; /* of the file */
	int fd;
	u64 maps_device, maps_inode; /* as /proc/PID/maps has it */
	u64 *offsets, *cookies;
	size_t count;
};
int site_check_offsets(const struct target *target, struct site_offsets *offsets,
		       struct site_changes *changes);

#endif
