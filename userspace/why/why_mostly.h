/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread was mostly found at while it kept a GPU idle: times of it that were too short for a sample are most likely the same code. Gaps of
 * microseconds between launches add up to as much as long ones, and hardly any of them has a sample of its own.
 */
#ifndef GPUPROBE_WHY_WHY_MOSTLY_H
#define GPUPROBE_WHY_WHY_MOSTLY_H

#include "why/why.h"

#define WHY_MOSTLY_UNKNOWN UINT32_MAX

/* Zero-initialise it. */
struct why_mostly {
	struct map amounts; /* (GPU and thread, who waits for it and number of what) -> samples there; of WHY_MOSTLY_UNKNOWN: all */
	struct map times;   /* (GPU and thread, who waits) -> ns that these samples are of */
};

/* Samples of such a cause; ns: time of which they tell. 0 or -ENOMEM. */
int why_mostly_add(struct why_mostly *mostly, const struct why_cause *cause, u32 what, u64 samples);
int why_mostly_add_time(struct why_mostly *mostly, const struct why_cause *cause, u64 ns);
/* Number of what such a cause is of which there are no samples: where most of those of its thread are, if it is no longer than the time that these are of. */
u32 why_mostly_find(const struct why_mostly *mostly, const struct why_cause *cause, u64 ns);
void why_mostly_free(struct why_mostly *mostly);

#endif
