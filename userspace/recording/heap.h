/* Allocations of host memory: what is probed for them, and what is said of it. */
#ifndef GPUPROBE_RECORDING_HEAP_H
#define GPUPROBE_RECORDING_HEAP_H

#include "base/text.h"
#include "options/options.h"
#include "recording/attachment.h"

/* attachment->heap_plan, if the options want it. Asked for by --alloc and impossible: -EOPNOTSUPP or -ENOENT with the reason;
 * by a level: there is none then, and heap_say_plan() says so. */
int heap_plan_make(const struct options *options, struct attachment *attachment, struct err *err);
/* A headline for the list of its functions. */
void heap_append_plan(struct text *text, const struct attachment *attachment,
		      const struct options *options);
void heap_say_plan(const struct attachment *attachment, const struct options *options);

#endif
