/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * At which line of a long function of Python its samples are: a program whose loop stands in main() or in the module itself has one function, and all is in that.
 */
#ifndef GPUPROBE_WHY_WHY_LINES_H
#define GPUPROBE_WHY_WHY_LINES_H

#include "base/map.h"
#include "view/view.h"

/* Lines nearer than this to where their function begins are found there. */
#define WHY_LINES_FAR 12

/* Zero-initialise it. */
struct why_lines {
	struct map of_stacks; /* (process, stack) -> line of the program's own code, 0: none that is far */
	struct map samples;   /* (number of what, line) -> samples there; line ~0: of all lines */
};

/* A sample of code that is called `what`. 0 or -ENOMEM. */
int why_lines_add(struct why_lines *lines, const struct view *view, u32 what, u32 pid, u32 stack);
/* The line of each `what` with most samples, of equal ones the first, and how many percent of its samples these are: (what, 0) -> line << 32 | percent. */
int why_lines_find(const struct why_lines *lines, struct map *ret_hottest);
void why_lines_free(struct why_lines *lines);

#endif
