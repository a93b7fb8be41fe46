/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name that the user may have meant: offer it every name that would have been right. */
#ifndef GPUPROBE_BASE_NEAREST_H
#define GPUPROBE_BASE_NEAREST_H

#include "base/types.h"

struct nearest {
	const char *word; /* what was given; set it, and the rest to 0 */
	const char *best; /* NULL: nothing is near enough to be worth a hint */
	unsigned best_distance;
	char hint[160];
};

/* candidate must live as long as nearest. Near is: few edits for its length, or what begins with word. */
void nearest_offer(struct nearest *nearest, const char *candidate);
/* ". Did you mean BEFORE + best?", or "" where nothing is near: to end a message with. */
const char *nearest_hint(struct nearest *nearest, const char *before);

#endif
