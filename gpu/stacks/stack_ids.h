/* SPDX-License-Identifier: MIT */
/*
 * The stacks that were sent: each goes through the ring once, as a fact, before the record that refers to it. Any thread, at once, without a
 * lock. Memory is bounded.
 */
#ifndef GPUPROBE_GPU_STACK_IDS_H
#define GPUPROBE_GPU_STACK_IDS_H

#include "stack_walk.h"
#include "../base/ring.h"

#define STACK_IDS_FIRST (1U << 16) /* those below are of base/instructions.h */
#define STACK_IDS_MAX	(1U << 16)

struct stack_ids {
	u64 hashes[STACK_IDS_MAX]; /* by id - STACK_IDS_FIRST; 0: there is none */
};

/* The id of a stack whose walk has ended, sent if that was not done; 0: no room for it, here or in the ring. pid: as the target sees it.
 * fact_ns: from when on facts hold. */
u32 stack_ids_get(struct stack_ids *ids, struct ring_writer *writer, const struct stack_walk *walk, u32 pid,
		  u64 fact_ns);

#endif
