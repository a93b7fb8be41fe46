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

enum stack_sent { STACK_SENT, STACK_NO_PLACE, STACK_RING_FULL };
/* The id of a stack whose walk has ended, now, which is sent if that was not done. pid: as the target sees it. */
enum stack_sent stack_ids_get(struct stack_ids *ids, struct ring_writer *writer,
			      const struct stack_walk *walk, u32 pid, u64 now_ns, u32 *ret_id);

#endif
