/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs have summed of allocations of host memory, as records: what is live of each process some times a
 * second, everything by process and by stack at the end.
 */
#ifndef GPUPROBE_COLLECT_BPF_HEAP_COUNTS_H
#define GPUPROBE_COLLECT_BPF_HEAP_COUNTS_H

#include <stdatomic.h>

#include "base/map.h"
#include "collect/bpf/bpf_source.h"
#include "collect/source.h"

/* Zero-initialise but for source. */
struct heap_counts {
	const struct bpf_source *source;
	struct map live_bytes, live_calls, foreign_frees; /* by pid: what was told last */
	u64 read_ns; /* when they were read last */
	atomic_bool window_closed;
};

/* Of the functions, as events name them, and of the counters. 0 or -ENOMEM. */
int heap_counts_put_names(const struct plan *plan, size_t first, struct batch *batch);
/* counts stays where it is for as long as the result is used. */
struct record_source heap_counts_source(struct heap_counts *counts);
/* The window is about to close: what is drained from here on tells no more of what is live. */
void heap_counts_close(struct heap_counts *counts);
/* What changed since, and the sums; when the window is closed and nobody drains any more. 0 or -errno. */
int heap_counts_put_sums(struct heap_counts *counts, u64 window_start_ns, u64 window_end_ns,
			 struct batch *batch);
void heap_counts_free(struct heap_counts *counts);

#endif
