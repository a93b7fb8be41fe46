/* SPDX-License-Identifier: MIT */
/*
 * One recording of the ranges and marks of NVTX: its functions are called by the target's threads, by way of the pages
 * of resident.h; all else is the agent's thread's.
 *
 * What NVTX returns stays what it returns without a tool where a program could depend on it: levels of push and pop are
 * "not tracked". Ids of ranges and handles of domains and strings are ours, and mean nothing to a later session.
 */
#ifndef GPUPROBE_GPU_NVTX_SESSION_H
#define GPUPROBE_GPU_NVTX_SESSION_H

#include "nvtx_ranges.h"
#include "nvtx_sites.h"
#include "nvtx_texts.h"

#define NVTX_NO_LEVELS	 ((u64)(s64)-2) /* NVTX_NO_PUSH_POP_TRACKING */
#define NVTX_CATEGORIES	 1024

struct nvtx_session {
	struct agent_control *control;
	struct ring ring;
	const u32 *live; /* 0 in a fork()ed child of the target: it must not come near any of this */
	struct resident resident;
	struct nvtx_sites_config sites;
	struct nvtx_texts *texts;
	struct nvtx_ranges *ranges;
	u32 pid;
	u32 generation; /* of control->nvtx that was looked at */
	u32 retries;	/* for those that a thread of the target was initialising */
	u32 initialised_count;
	u64 handle_mark; /* upper half of the handles of this session */
	struct {
		u64 domain;
		u32 category;
		u32 name; /* 0: the place is empty; else a text, the last to be set */
	} categories[NVTX_CATEGORIES];
};

/* NULL: there is not enough memory. The feature's state says whether it records. */
struct nvtx_session *nvtx_session_begin(struct agent_control *control, const struct ring *ring, const u32 *live);
/* Places that gpuprobe has found since; threads that have ended. Every 100 ms. NULL allowed. */
void nvtx_session_tick(struct nvtx_session *session);

enum nvtx_left {
	NVTX_LEFT_NOTHING,
	NVTX_LEFT_PAGES,  /* those of resident.h */
	NVTX_LEFT_THREAD, /* a thread of the target is still inside the agent: it must stay mapped */
};

/* The words are put back, what is open is handed over. What stays is said in hint (AGENT_HINT_BYTES). NULL allowed. */
enum nvtx_left nvtx_session_end(struct nvtx_session *session, char *hint);

/* ---- among the files that make it ---- */

/* nvtx_calls.c. Functions by number, NULL: not taken; and what they return without an agent. */
extern const nvtx_slot nvtx_calls[NVTX_WORDS] __attribute__((visibility("hidden")));
extern const u64 nvtx_results[NVTX_WORDS] __attribute__((visibility("hidden")));

/* nvtx_records.c. A range with an end. dur may be RECORD_DURATION_OPEN; ended: enum of record.def. */
void nvtx_session_send(struct nvtx_session *session, struct ring_writer *writer, u16 kind,
		       const struct nvtx_range *range, u64 dur, u8 ended);

#endif
