/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of the plan for allocations of host memory. */
#ifndef GPUPROBE_VERBS_ANNOUNCE_HEAP_H
#define GPUPROBE_VERBS_ANNOUNCE_HEAP_H

#include "base/text.h"
#include "options/options.h"
#include "recording/attachment.h"

/* A headline for the list of its functions. */
void announce_heap_append_plan(struct text *text, const struct attachment *attachment,
			       const struct options *options);
void announce_heap_plan(const struct attachment *attachment, const struct options *options);

#endif
