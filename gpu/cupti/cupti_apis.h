/* SPDX-License-Identifier: MIT */
/*
 * Which API calls CUPTI records. From 12.5 on each is switched on by its number, and what is not wanted costs the target
 * a look at a byte; before that, and where all are wanted, whole kinds are, and the conversion leaves the rest out.
 */
#ifndef GPUPROBE_GPU_CUPTI_APIS_H
#define GPUPROBE_GPU_CUPTI_APIS_H

#include "cupti_session.h"

#define CUPTI_API_KINDS (1ULL << CUPTI_DRIVER | 1ULL << CUPTI_RUNTIME)

/* Finds the numbers of the wanted calls; of those kinds of `wanted` that cupti_apis_enable() does without, the bits. */
u64 cupti_apis_prepare(struct cupti_session *session, u64 wanted);
/* After the kinds, which undo what was switched by number before. Sets the bits of kinds that are recorded so. */
void cupti_apis_enable(struct cupti_session *session);
/* Each number of these kinds (bits) that was switched on. */
void cupti_apis_disable(struct cupti_session *session, u64 kinds);

#endif
