/* SPDX-License-Identifier: MIT */
/*
 * Taking CUPTI down (cuptiFinalize), so that the target has the CUPTI state that it had. It is safe on the way out of a
 * call of CUDA only: of the first that a thread of the target makes, or, where none comes, of one that the agent makes
 * itself. After it no function of CUPTI may be called, which would start it anew.
 */
#ifndef GPUPROBE_GPU_CUPTI_FINALIZE_H
#define GPUPROBE_GPU_CUPTI_FINALIZE_H

#include "resident.h"

enum cupti_finalize_state { FINALIZE_NO, FINALIZE_WANTED, FINALIZE_RUNS, FINALIZE_DONE };

/*
 * Why CUPTI must not be taken down in this target, in words that follow "it"; NULL: it may. Known from the start on, when
 * the version is, so that nothing is set that only cuptiFinalize undoes.
 */
const char *cupti_finalize_why_not(const struct cupti_session *session);

enum cupti_finalized {
	CUPTI_UP,    /* all is as before */
	CUPTI_DOWN,  /* and the subscription with it */
	CUPTI_STUCK, /* a thread of the target's has been in cuptiFinalize for too long: CUPTI must not be called any more */
};

/*
 * For the agent's thread, after the last flush. Blocks finalize_timeout_ms at most, and as long as cuptiFinalize itself takes: 5 s at
 * most where a thread of the target's calls it, without a limit where this one does (gpuprobe has one).
 */
enum cupti_finalized cupti_finalize(struct cupti_session *session);

/* Slot of resident.h: on any thread, between a call of CUDA and its return. */
void cupti_finalize_callback(void *data, u32 domain, u32 callback, const void *call, struct cupti_session *session);

#endif
