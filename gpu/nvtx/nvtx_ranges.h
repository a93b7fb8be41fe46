/* SPDX-License-Identifier: MIT */
/*
 * Ranges of NVTX that are open: a stack for each thread, and those that any thread may end, by their id. Used by all
 * threads of the target at once, without a lock; a thread touches its own stack only. Memory is bounded: what finds
 * no room is lost, and its end too, without a mistake about the others.
 */
#ifndef GPUPROBE_GPU_NVTX_RANGES_H
#define GPUPROBE_GPU_NVTX_RANGES_H

#include "../base/types.h"

#define NVTX_DEPTH_MAX 64 /* of one thread, over all domains */

enum nvtx_payload { NVTX_PAYLOAD_NONE, NVTX_PAYLOAD_UNSIGNED, NVTX_PAYLOAD_SIGNED, NVTX_PAYLOAD_DOUBLE };

struct nvtx_range {
	u64 domain;   /* its handle */
	u64 start_ns;
	u32 tid;      /* who began it */
	u32 name, domain_name, category_name; /* texts */
	u32 category, color;
	u64 payload;
	u32 payload_type; /* enum nvtx_payload */
	u32 pad;
};

struct nvtx_ranges;

struct nvtx_ranges *nvtx_ranges_open(u64 first_id); /* NULL: no memory */
void nvtx_ranges_close(struct nvtx_ranges *ranges); /* NULL allowed */

/* Puts it on the stack of the thread (tid, and self: what is its own as long as it lives). false: no room. */
bool nvtx_ranges_push(struct nvtx_ranges *ranges, u32 tid, u64 self, const struct nvtx_range *range);
enum nvtx_popped { NVTX_POPPED, NVTX_POPPED_LOST, NVTX_POPPED_UNKNOWN };
/* Takes the innermost one of the domain off. LOST: its push had found no room. */
enum nvtx_popped nvtx_ranges_pop(struct nvtx_ranges *ranges, u32 tid, u64 self, u64 domain,
				 struct nvtx_range *ret_range);

/* A range that any thread may end. Its id, unique and never 0; *ret_kept: was there room for it? */
u64 nvtx_ranges_start(struct nvtx_ranges *ranges, const struct nvtx_range *range, bool *ret_kept);
/* false: there is none with this id. */
bool nvtx_ranges_end(struct nvtx_ranges *ranges, u64 id, struct nvtx_range *ret_range);

/* Takes the stacks of threads that have ended, and calls with each range on them, the outermost first. */
void nvtx_ranges_sweep(struct nvtx_ranges *ranges, bool (*lives)(void *data, u32 tid),
		       void (*found)(void *data, const struct nvtx_range *range), void *data);
/* Calls with each that is open. Nobody else may be at work. process_wide: one that any thread may end. */
void nvtx_ranges_each(struct nvtx_ranges *ranges,
		      void (*found)(void *data, const struct nvtx_range *range, bool process_wide), void *data);

#endif
