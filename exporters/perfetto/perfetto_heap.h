/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations of host memory by stack, as the engine's own profiles of a heap: what was allocated and what of it was freed at the end of the
 * window, of which the UI draws flame graphs. What else is known of a stack (its peak, the largest and oldest, what failed) has no place there.
 */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_HEAP_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_HEAP_H

#include "exporters/perfetto/perfetto_packets.h"
#include "view/view.h"

/* The sums of a stack. */
int perfetto_heap_write(struct perfetto_packets *packets, const struct view *view, const struct view_event *event, struct err *err);

#endif
