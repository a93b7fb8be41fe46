/* SPDX-License-Identifier: MIT */
/*
 * Instructions that records tell of, as stacks of one frame, so that they get their names as every frame does. The fact
 * goes through the ring before the first record that refers to it, and counts as sent only when the ring had room. For
 * one thread. Memory is bounded.
 */
#ifndef GPUPROBE_GPU_INSTRUCTIONS_H
#define GPUPROBE_GPU_INSTRUCTIONS_H

#include "ring.h"

struct instructions;

/* pid: as the target sees it. fact_ns: from when on the facts hold. NULL: no memory. */
struct instructions *instructions_open(u32 pid, u64 fact_ns);
void instructions_close(struct instructions *instructions); /* NULL allowed */

/* The id of the stack that is the instruction at this address; 0: no room for more (counted), or the address is 0. */
u32 instructions_put(struct instructions *instructions, struct ring_writer *writer, u64 address);

#endif
