/* SPDX-License-Identifier: MIT */
/*
 * Taking CUPTI down (cuptiFinalize), so that the target has the CUPTI state that it had. It is safe on the way out of a
 * call of CUDA only: of one that the agent makes itself. No thread of the target's ever waits in it. After it no function of
 * CUPTI may be called, which would start it anew.
 */
#ifndef GPUPROBE_GPU_CUPTI_FINALIZE_H
#define GPUPROBE_GPU_CUPTI_FINALIZE_H

#include "../resident/resident.h"

/*
 * Why CUPTI must not be taken down in this target, in words that follow "it"; NULL: it may. Known from the start on, when
 * the version is, so that nothing is set that only cuptiFinalize undoes.
 */
const char *cupti_finalize_why_not(const struct cupti_session *session);

/*
 * For the agent's thread, which holds the subscription, after the last flush. true: CUPTI is down, and the subscription with
 * it. Takes as long as cuptiFinalize does, which has no limit (gpuprobe has one).
 */
bool cupti_finalize(struct cupti_session *session);

/* Slot of resident.h: on any thread, between a call of CUDA and its return. */
void cupti_finalize_callback(void *data, u32 domain, u32 callback, const void *call, struct cupti_session *session);

#endif
