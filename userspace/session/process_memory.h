/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory the recorded processes have over time, read from /proc some times a second, as a record_source: a record
 * where it has changed. Of the first 64 processes; that there are more is in the ledger.
 */
#ifndef GPUPROBE_SESSION_PROCESS_MEMORY_H
#define GPUPROBE_SESSION_PROCESS_MEMORY_H

#include "base/map.h"
#include "collect/bpf/bpf_source.h"
#include "collect/source.h"

/* Zero-initialise but for what the comments name. */
struct process_memory {
	struct bpf_source *source; /* whose targets are read; the caller's */
	u32 place;		   /* text id (BPF) that the loss record names as its place */
	u64 read_ns;		   /* when it was read last; 0: never */
	struct map known;	   /* process -> resident and mapped bytes as they were last told */
	size_t unread_count;	   /* processes that were too many, at the worst */
};

/* memory stays where it is for as long as the result is used. */
struct record_source process_memory_source(struct process_memory *memory);
/* Reads it now, of processes that live; the records say ts. After the drain thread has ended. 0 or what the callback said. */
int process_memory_read(struct process_memory *memory, u64 ts, record_callback callback, void *data);
void process_memory_free(struct process_memory *memory);

#endif
