/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call stacks of a trace of Perfetto, interned: their functions, files and frames once until the state is cleared. Samples of CPUs have them, and
 * spans that were recorded with one. */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_STACKS_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_STACKS_H

#include "exporters/perfetto/perfetto_packets.h"
#include "view/view.h"

/* The number of a stack of a process; 0: nothing is known of its functions. */
u64 perfetto_stack(struct perfetto_packets *packets, const struct view *view, u32 pid, u32 stack);
/* The same under a number that the caller gives once, above all that are given here. False: not told of. */
bool perfetto_stack_tell(struct perfetto_packets *packets, const struct view *view, u32 pid, u32 stack, u64 number);
/* A sample of a CPU. */
int perfetto_sample_write(struct perfetto_packets *packets, const struct view *view, const struct view_event *event, struct err *err);

#endif
