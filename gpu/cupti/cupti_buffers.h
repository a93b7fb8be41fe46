/* SPDX-License-Identifier: MIT */
/*
 * The buffers that CUPTI fills with activity records. Whoever registers callbacks with CUPTI after us is handed those
 * that are out, and frees them as its own: XLA by AlignedFree, Proton by free(), in the callback (both read in their
 * sources), while Kineto drops what it does not know. So each is an allocation of its own of the target's allocator,
 * made by the agent's thread ahead of need. CUPTI asks for them and hands them back in the target's threads or in its
 * own; there nothing is waited for, and nothing allocated but where a CUPTI crashes without a buffer (before 12.9).
 *
 *	NONE -> NEW (allocated, perhaps without memory behind it) -> FREE (touched)
 *	NEW or FREE -> OUT (requested) -> FULL (completed) -> FREE (the agent has read it)
 */
#ifndef GPUPROBE_GPU_CUPTI_BUFFERS_H
#define GPUPROBE_GPU_CUPTI_BUFFERS_H

#include "../base/ring.h"

#define CUPTI_BUFFERS_MAX 1024

enum cupti_buffer_state {
	CUPTI_BUFFER_NONE,
	CUPTI_BUFFER_NEW,
	CUPTI_BUFFER_FREE,
	CUPTI_BUFFER_OUT,
	CUPTI_BUFFER_FULL,
};

struct cupti_buffers {
	struct agent_control *control; /* for the count of those that are out; its bell rings with each that is handed back or
					* missed */
	u32 buffer_bytes, count, count_max; /* count: grows by the agent's thread, as they are needed */
	u32 large_max;	/* those behind are small: hundreds of threads, each with one of its own, find room in the same memory */
	u32 ready;	/* so many are kept ready */
	u32 completed;	/* so many were handed back */
	bool zeroed;	/* those that are FREE hold nothing but zeros (attribute ZEROED_OUT) */
	struct {
		u8 *memory;
		u32 state;
		u32 valid_bytes;
		u32 turn; /* of one that is FULL: how many were handed back before */
	} buffers[CUPTI_BUFFERS_MAX];
};

/* Allocates the first ones. 0 or -ENOMEM: then too it is to be closed. */
int cupti_buffers_open(struct cupti_buffers *buffers, struct agent_control *control);
/* The agent's thread, now and then: some are ready, up to the number that control allows, and some of these have memory behind
 * them, so that no thread of the target has to fault it in. */
void cupti_buffers_prepare(struct cupti_buffers *buffers);
/* A buffer for CUPTI, 8-aligned; NULL: all are in use. */
u8 *cupti_buffers_take(struct cupti_buffers *buffers, size_t *ret_bytes);
/* Back from CUPTI. false: it is none of ours. */
bool cupti_buffers_give_back(struct cupti_buffers *buffers, const u8 *buffer, size_t valid_bytes);
/* The next one to read, in the order in which they were handed back: where reading is cut off, what is missing is what came last. Its memory, or
 * NULL. For one thread. */
const u8 *cupti_buffers_next(struct cupti_buffers *buffers, u32 *ret_index, size_t *ret_valid_bytes);
/* That one is read: it can be used again. */
void cupti_buffers_done(struct cupti_buffers *buffers, u32 index);
u32 cupti_buffers_out(const struct cupti_buffers *buffers);
/* Frees them, but those that CUPTI still has: they are not touched any more. The bytes of these. */
u64 cupti_buffers_close(struct cupti_buffers *buffers);

#endif
