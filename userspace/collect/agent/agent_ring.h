/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reading side of the memory shared with an agent (gpu/shared.h). The other side is a process that may be
 * hostile or dying: every number is checked, a record is copied out before it is looked at, one round does no
 * more work than the memory has room for. What the target says of whose record it is, is overwritten: a target
 * can lie about itself only.
 */
#ifndef GPUPROBE_COLLECT_AGENT_AGENT_RING_H
#define GPUPROBE_COLLECT_AGENT_AGENT_RING_H

#include "collect/source.h"
#include "../gpu/shared.h"
#include "../gpu/tables.h"

struct agent_ring;
struct python_codes;

struct agent_ring_config {
	struct agent_control *control; /* the mapping; stays the caller's, outlives the ring */
	u32 chunk_count;	       /* as we made it, never as the memory says */
	u32 source;		       /* stamped on every record */
	u32 pid;		       /* the host's; stamped on every record */
	s64 clock_shift_ns; /* added to its times: CLOCK_MONOTONIC of the host minus that of the target */
	struct python_codes *codes; /* NULL, or where code objects of Python go; the drain thread's; */
	u32 first_code;		    /* their numbers begin there */
	bool stacks;		    /* it takes stacks of who calls CUDA */
	/* The host's number of a thread, tid as the target sees it; 0: not known. Asked for every record. */
	u32 (*host_thread)(void *data, u32 tid);
	/* Does this thread live? tid as the target sees it. */
	bool (*thread_lives)(void *data, u32 tid);
	void *data;
};

int agent_ring_create(const struct agent_ring_config *config, struct agent_ring **ret_ring);
struct agent_ring *agent_ring_free(struct agent_ring *ring); /* NULL allowed; returns NULL */

/* struct record_source.drain; data: the ring. */
int agent_ring_drain(void *data, record_callback callback, void *callback_data);
/*
 * The agent has left, or had its time: from now on no more is taken than the memory has room for, so that
 * a target that goes on writing can't keep us for ever. From any thread.
 */
void agent_ring_end(struct agent_ring *ring);
/* Chunks whose writer died are read as far as they are whole; now and then, not in every round. */
void agent_ring_reclaim(struct agent_ring *ring);
/* Records, or places where one should be, that were not good; NULL: 0. */
u64 agent_ring_damaged(const struct agent_ring *ring);

#endif
