/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocations of host memory: what is probed for them. */
#ifndef GPUPROBE_RECORDING_HEAP_H
#define GPUPROBE_RECORDING_HEAP_H

#include "base/text.h"
#include "options/options.h"
#include "recording/attachment.h"

/* attachment->heap_plan, if the options want it. Asked for by --alloc and impossible: -EOPNOTSUPP or -ENOENT with the reason;
 * by a level: there is none then. */
int heap_plan_make(const struct options *options, struct attachment *attachment, struct err *err);
/* Why there is none though one is wanted: a sentence without its full stop. */
const char *heap_why_not(const struct attachment *attachment);

#endif
