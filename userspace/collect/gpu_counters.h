/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How GPUs are while targets use them (clocks, power, memory, ...), read from NVML ten times a second by a thread of gpuprobe's own:
 * a record where something has changed. It passes on the records of the agents, and learns from their facts which GPU has
 * which id. A call of NVML that hangs, with a GPU that is lost, holds up nobody.
 */
#ifndef GPUPROBE_COLLECT_GPU_COUNTERS_H
#define GPUPROBE_COLLECT_GPU_COUNTERS_H

#include "collect/source.h"

struct gpu_counters;

/* inner: the agents' source; where it is used, this takes its place. -ENOMEM, or -errno of making the thread. */
int gpu_counters_start(const struct record_source *inner, struct gpu_counters **ret_counters);
struct record_source gpu_counters_source(struct gpu_counters *counters);
/* Only what is read in between is told; end_ns 0: open. Any thread. NULL allowed. */
void gpu_counters_set_window(struct gpu_counters *counters, u64 start_ns, u64 end_ns);
/* NULL allowed; returns NULL. Waits for the thread, 200 ms at most: one that hangs keeps its memory. */
struct gpu_counters *gpu_counters_free(struct gpu_counters *counters);

#endif
