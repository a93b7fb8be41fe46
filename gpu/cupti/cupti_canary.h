/* SPDX-License-Identifier: MIT */
/*
 * The second net below the probes on CUPTI: does what it records still come? A call of the driver by the agent's own
 * thread, once a second, must come back as a record: three in a row that do not, while no other record came either, and CUPTI
 * fell silent. That is judged of a CUPTI only that has answered before, where each thread has a buffer of its own, and as long as
 * it drops nothing. And launches must have kernels, since a profiler's end switches off kernels, copies and sets alone (Kineto:
 * kinds 10, 1 and 2), and API calls are recorded on. The canary's records are not passed on.
 */
#ifndef GPUPROBE_GPU_CUPTI_CANARY_H
#define GPUPROBE_GPU_CUPTI_CANARY_H

#include "../base/types.h"

struct cupti_session;

struct cupti_canary {
	bool on; /* its call is among those recorded */
	u32 unanswered; /* calls of it, since the last record that came, of whatever */
	u64 called_ns, answered_ns; /* the last ones; 0: none */
	/* Of records, in CUPTI's time. */
	u64 kernel_start; /* latest of the kernels that came */
	u64 launches_without; /* since then */
	u64 first_without, last_without; /* when the first and last of these were */
	u64 first_without_ns; /* about, in our time */
};

/* All is enabled. */
void cupti_canary_begin(struct cupti_session *session);
void cupti_canary_end(struct cupti_session *session);
/* Before a flush by the agent. */
void cupti_canary_call(struct cupti_session *session, u64 now_ns);
/* Each record on its way; true: it is the canary's own. */
bool cupti_canary_sees(struct cupti_session *session, const void *record, size_t room_bytes);
/* Is CUPTI lost? Why (enum cupti_lost), and since when; 0: nothing says so. */
u32 cupti_canary_judge(struct cupti_session *session, u64 now_ns, u64 *ret_since_ns);

#endif
