/* SPDX-License-Identifier: MIT */
/*
 * The buffers that CUPTI fills with activity records. They are memory of their own, not of the agent's library: one
 * that CUPTI still has when the agent leaves stays mapped. CUPTI asks for them and hands them back in the target's
 * threads or in its own; there nothing is allocated and nothing is waited for.
 *
 *	FREE -> OUT (requested) -> FULL (completed) -> FREE (the agent has read it)
 */
#ifndef GPUPROBE_GPU_CUPTI_BUFFERS_H
#define GPUPROBE_GPU_CUPTI_BUFFERS_H

#include "ring.h"

#define CUPTI_BUFFERS_MAX 1024

enum cupti_buffer_state { CUPTI_BUFFER_FREE, CUPTI_BUFFER_OUT, CUPTI_BUFFER_FULL };

struct cupti_buffers {
	struct agent_control *control; /* for the count of those that are out */
	u8 *memory;
	u32 buffer_bytes, count;
	u32 full_count; /* changes with each one that is handed back: to be waited for */
	struct {
		u32 state;
		u32 valid_bytes;
	} buffers[CUPTI_BUFFERS_MAX];
};

/* Reserves address space; memory is used as far as CUPTI writes. 0 or -errno. */
int cupti_buffers_open(struct cupti_buffers *buffers, struct agent_control *control);
/* A buffer for CUPTI, 8-aligned; NULL: all are in use. */
u8 *cupti_buffers_take(struct cupti_buffers *buffers);
/* Back from CUPTI. false: it is none of ours. */
bool cupti_buffers_give_back(struct cupti_buffers *buffers, const u8 *buffer, size_t valid_bytes);
/* The next one to read, from *cursor (0 at first) on: its memory, or NULL. For one thread. */
const u8 *cupti_buffers_next(struct cupti_buffers *buffers, u32 *cursor, size_t *ret_valid_bytes);
/* That one is read: it can be used again. */
void cupti_buffers_done(struct cupti_buffers *buffers, u32 cursor);
u32 cupti_buffers_out(const struct cupti_buffers *buffers);
/* Unmaps them, if CUPTI has none of them any more; false: they stay. */
bool cupti_buffers_close(struct cupti_buffers *buffers);

#endif
