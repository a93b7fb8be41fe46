/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who called the code that a cause names: a function that waits for the GPU is called in many places, and it is one of those that is to be changed.
 */
#ifndef GPUPROBE_WHY_WHY_CALLERS_H
#define GPUPROBE_WHY_WHY_CALLERS_H

#include "base/map.h"
#include "view/view.h"

#define WHY_CALLERS_RECENT 256 /* a power of two */
/* Of more stacks those that come later are left out. */
#define WHY_CALLERS_MAX 65536

/* Zero-initialise it. */
struct why_callers {
	struct map amounts; /* (number of what, process and stack) -> samples, or ns */
	struct why_callers_recent {
		u64 where; /* process and stack; 0: none */
		u32 what;
		u64 amount; /* which the map does not have yet */
	} recent[WHY_CALLERS_RECENT];
};

/* Something that is called `what` was found at a stack (0: it is not known where). Amounts of one `what` are of one unit. 0 or -ENOMEM. */
int why_callers_add(struct why_callers *callers, u32 what, u32 pid, u32 stack, u64 amount);
/* Behind all. 0 or -ENOMEM. */
int why_callers_settle(struct why_callers *callers);
/* Who called most of it, "main (train.py:30)" to the text, and of how many percent of it that is so. False: nobody did of much of it, or it is not known. -ENOMEM is the text's. */
bool why_callers_find(const struct why_callers *callers, const struct view *view, u32 what, struct text *text, u32 *ret_percent);
void why_callers_free(struct why_callers *callers);

#endif
