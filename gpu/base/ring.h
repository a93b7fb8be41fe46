/* SPDX-License-Identifier: MIT */
/*
 * The producing side of the memory shared with gpuprobe (gpu/shared.h): records go into chunks, one writer a chunk at a
 * time. Never waits: without a free chunk there is no room, and the caller counts what it drops.
 */
#ifndef GPUPROBE_GPU_RING_H
#define GPUPROBE_GPU_RING_H

#include "types.h"
#include "../shared.h"

struct ring {
	struct agent_control *control;
	u32 chunk_count;
};

/* One for each thread that writes. */
struct ring_writer {
	const struct ring *ring;
	struct agent_chunk *chunk; /* held; NULL: none */
	u32 tid;		   /* as the target sees it */
	u32 cursor;		   /* where to look for the next chunk */
	u32 uncounted;		   /* records since the counter of all was told */
};

/* mapped_bytes: what is mapped from control on. The number of chunks is taken from control only as far as it fits. */
void ring_open(struct ring *ring, struct agent_control *control, size_t mapped_bytes);
void ring_writer_open(struct ring_writer *writer, const struct ring *ring, u32 tid);

/* Room for one record of bytes (a multiple of 8), or NULL. It is seen by nobody until ring_commit(). */
void *ring_reserve(struct ring_writer *writer, u32 bytes);
void ring_commit(struct ring_writer *writer, u32 bytes);
/* After a batch: what room is left in the chunk is there for others again, and gpuprobe may take it. */
void ring_release(struct ring_writer *writer);

/* The same for the writer of a thread that has ended. */
void ring_abandon(struct ring_writer *writer);

void ring_count(const struct ring *ring, enum agent_counter counter, u64 count);

#endif
