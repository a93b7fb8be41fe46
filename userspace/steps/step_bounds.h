/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the steps of a thread begin of which step_period.h has found the root, and where the last one ends. Pure.
 *
 * A step begins with its root. A graph launch may lie in the middle of one: launches before it belong to it back to where the
 * thread pauses between two calls clearly longer, over all periods, than there, and for a tenth of the time; else back to where the host last took something (a copy
 * from the GPU, a wait); else it begins with the graph. The first step is left out if less came before its root than usual.
 * The last one ends with what the one before it ended with; it is none if it lacks some of that one's work.
 */
#ifndef GPUPROBE_STEPS_STEP_BOUNDS_H
#define GPUPROBE_STEPS_STEP_BOUNDS_H

#include "steps/step_period.h"

struct step_bounds {
	size_t *begins; /* places in the sequence, ascending; the caller frees it */
	size_t count;	/* with the last one, that may be none */
	u64 last_end_ns; /* 0: the last one is no step, and only says where the one before ends */
};

/* 0 or -ENOMEM. */
int step_bounds_find(const struct step_sequence *sequence, u32 root, struct step_bounds *ret_bounds);

#endif
