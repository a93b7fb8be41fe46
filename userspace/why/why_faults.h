/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether code runs in the kernel for a page fault, by its stack. */
#ifndef GPUPROBE_WHY_WHY_FAULTS_H
#define GPUPROBE_WHY_WHY_FAULTS_H

#include "base/map.h"
#include "view/view.h"

/* Zero-initialise it. */
struct why_faults {
	struct map known; /* (process, stack) -> whether */
};

/* 0 or -ENOMEM. */
int why_faults_find(struct why_faults *faults, const struct view *view, u32 pid, u32 stack, bool *ret_faults);
void why_faults_free(struct why_faults *faults);

#endif
