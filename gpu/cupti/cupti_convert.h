/* SPDX-License-Identifier: MIT */
/*
 * CUPTI's activity records become records of ours, by the table cupti_layout.def, and go into the ring. What is not
 * sent is counted. For one thread: the agent's.
 */
#ifndef GPUPROBE_GPU_CUPTI_CONVERT_H
#define GPUPROBE_GPU_CUPTI_CONVERT_H

#include "api_calls.h"
#include "../base/clock.h"
#include "../base/instructions.h"
#include "../base/ring.h"
#include "../base/streams.h"
#include "../base/texts.h"

/* CUPTI's numbers of kinds of activity that have a meaning of their own here. */
enum cupti_activity {
	CUPTI_NO_KIND = 0,
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_SERIAL_KERNEL = 3,
	CUPTI_DRIVER = 4,
	CUPTI_RUNTIME = 5,
	CUPTI_DEVICE = 8,
	CUPTI_CONTEXT = 9,
	CUPTI_KERNEL = 10,
	CUPTI_UNIFIED_MEMORY = 25,
	CUPTI_CUDA_EVENT = 36,
	CUPTI_STREAM = 37,
	CUPTI_GRAPH_TRACE = 51,
};

struct cupti_convert {
	struct agent_control *control; /* settings, window, counters */
	struct ring_writer *writer;
	struct texts *texts;
	struct streams *streams;
	struct instructions *instructions;
	struct clock *clock;
	u32 version; /* cuptiGetVersion */
	u32 pid;     /* as the target sees it */
	u64 fact_ns; /* from when on facts hold */
	u16 record_bytes[AGENT_ACTIVITY_KINDS]; /* as measured; 0: not known, then as in 11.8 */
	/* Name of an API function, NULL: unknown. And the string at an address that stood in a record. */
	const char *(*callback_name)(void *data, u32 domain, u32 callback);
	const char *(*string_at)(void *data, u64 address);
	void *data;
	struct api_set apis; /* calls that are sent */
	u32 thrown_away[2]; /* of each domain a callback whose records are none of the target's; 0: none */
	u64 sent_callbacks, sent_activities;
	bool managed_used; /* managed memory, as far as records tell */
	u64 devices_told, devices_used; /* bits: a fact was sent; a record refers to it (of the first 64) */
	u32 callback_texts[2][API_CALLS_MAX]; /* ids, 0: not asked yet */
};

/* Are there rows for this kind? */
bool cupti_convert_knows(u32 kind);
/* One record, room_bytes from there on to the end of the buffer. */
void cupti_convert(struct cupti_convert *convert, const void *activity, size_t room_bytes);

#endif
