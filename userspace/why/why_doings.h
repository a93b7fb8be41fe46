/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What code does for something else than what it is, by its stack (why_doings.def): page faults, garbage collection. */
#ifndef GPUPROBE_WHY_WHY_DOINGS_H
#define GPUPROBE_WHY_WHY_DOINGS_H

#include "base/map.h"
#include "view/view.h"

enum why_doing {
#define DOING(name, words) WHY_DOING_##name,
#include "why/why_doings.def"
	WHY_DOINGS
};

/* Zero-initialise it. */
struct why_doings {
	struct map known; /* (process, stack) -> enum why_doing */
};

/* The innermost one that is known. 0 or -ENOMEM. */
int why_doings_find(struct why_doings *doings, const struct view *view, u32 pid, u32 stack, enum why_doing *ret_doing);
/* Where user code was: the address of an instruction, in a fault that it takes or at itself. False: in a call of the kernel's, in Python, or it is not known. */
bool why_doings_spot(const struct view *view, u32 pid, u32 stack, u64 *ret_address, bool *ret_faults);
/* "page faults"; "" of WHY_DOING_ITSELF */
const char *why_doing_words(enum why_doing doing);
/* The one that such words begin with, as `what` of a cause does. */
enum why_doing why_doing_of_words(const char *what);
void why_doings_free(struct why_doings *doings);

#endif
