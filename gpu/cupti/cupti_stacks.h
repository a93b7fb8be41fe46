/* SPDX-License-Identifier: MIT */
/*
 * Stacks of calls of CUDA (stacks/launch_stacks.h), of which CUPTI tells by callbacks as they begin. That needs the subscription: where it
 * is not held, since somebody else may want it, there are none.
 */
#ifndef GPUPROBE_GPU_CUPTI_STACKS_H
#define GPUPROBE_GPU_CUPTI_STACKS_H

#include "cupti_session.h"

/* Before the slots are connected: what the callback needs, where stacks are wanted. */
void cupti_stacks_prepare(struct cupti_session *session);
/* With the subscription; the feature's state and hint say whether stacks are taken. */
void cupti_stacks_begin(struct cupti_session *session);
/* The subscription is about to be given back, or the recording ends. */
void cupti_stacks_end(struct cupti_session *session);
/* It was given back in the middle of the recording: the hint says so. */
void cupti_stacks_lose(struct cupti_session *session);
/* When no thread is in the callback any more. */
void cupti_stacks_release(struct cupti_session *session);

/* For resident.h, in place of cupti_finalize_callback(), which it passes on to. */
void cupti_stacks_callback(void *data, u32 domain, u32 callback, const void *call, struct cupti_session *session);

#endif
