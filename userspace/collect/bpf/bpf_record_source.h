/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF programs as a record_source: what the drain thread and the end of a session ask of them. */
#ifndef GPUPROBE_COLLECT_BPF_BPF_RECORD_SOURCE_H
#define GPUPROBE_COLLECT_BPF_BPF_RECORD_SOURCE_H

#include "collect/bpf/bpf_source.h"
#include "collect/source.h"
#include "python/python_codes.h"

struct bpf_drained {
	struct bpf_source *source;
	u32 place; /* text id (BPF) that its loss records name as their place */
	struct python_codes *python; /* what is drained beside the records; NULL: it is left */
};

/* records stays where it is for as long as the result is used. */
struct record_source bpf_record_source(struct bpf_drained *records);
/* Adds loss records for what the BPF programs counted; open_count: calls found open besides. */
int bpf_record_source_add_losses(const struct bpf_drained *records, u64 open_count, struct batch *batch);
/* struct drain_config.wait; data: struct bpf_drained. */
void bpf_record_source_wait(void *data, int timeout_ms);

#endif
