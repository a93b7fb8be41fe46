/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of which calls are only counted: what the BPF programs have counted, as records. */
#ifndef GPUPROBE_COLLECT_BPF_FUNCTION_COUNTS_H
#define GPUPROBE_COLLECT_BPF_FUNCTION_COUNTS_H

#include "base/map.h"
#include "collect/bpf/bpf_source.h"
#include "store/batch.h"

/* Calls that are open at the end. Zero-initialise; map_free(&open) at the end. */
struct function_counts {
	const struct plan *plan;
	struct map open; /* (pid, probe) -> how many */
};

/* Is it a call of a function that is only counted? Then it is noted. 0, 1 or -ENOMEM. */
int function_counts_take_open(struct function_counts *counts, const struct record_call *call);
/* After the window was closed: a record for each function and process. 0 or -errno. */
int function_counts_put(struct function_counts *counts, const struct bpf_source *source,
			u64 start_ns, u64 dur_ns, struct batch *batch);

#endif
