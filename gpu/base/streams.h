/* SPDX-License-Identifier: MIT */
/*
 * The contexts and streams of a session. A stream's number is unique in its context only, so streams get ids of our
 * own; a fact goes through the ring before the first record that refers to it, and counts as sent only when the ring
 * had room. For one thread. Memory is bounded.
 */
#ifndef GPUPROBE_GPU_STREAMS_H
#define GPUPROBE_GPU_STREAMS_H

#include "ring.h"

#define STREAM_NONE 0xffffffffU

struct streams;

/* pid: as the target sees it. fact_ns: from when on the facts hold. NULL: no memory. */
struct streams *streams_open(u32 pid, u64 fact_ns);
void streams_close(struct streams *streams); /* NULL allowed */

/* The device of a context, 0xffffffff: not known. One beyond what there is room for is counted (AGENT_COUNT_FACTS_CAPPED). */
void streams_set_context(struct streams *streams, struct ring_writer *writer, u32 context, u32 device);
u32 streams_device(const struct streams *streams, u32 context);

/* The id of stream number of context; STREAM_NONE: no room for more (counted). device may be 0xffffffff. */
u32 streams_put(struct streams *streams, struct ring_writer *writer, u32 context, u32 device, u32 number);

#endif
