/* SPDX-License-Identifier: MIT */
/*
 * Who holds CUPTI. It serves one subscriber at a time (before 13.3), and whoever comes second is refused with error 39.
 * Activity records need no subscription, only callbacks of API calls do, as for cuptiFinalize. PyTorch's profiler asks for it
 * once, at its first profile, and when it is refused has no GPU events for the rest of the process' life (pytorch #191944).
 * So where nobody but that one can come, none is held while it records; everywhere else it is, which keeps others from
 * registering callbacks over ours.
 */
#ifndef GPUPROBE_GPU_CUPTI_SUBSCRIPTION_H
#define GPUPROBE_GPU_CUPTI_SUBSCRIPTION_H

struct cupti_session;

/* Before anything is enabled: is it to be had? Then it is held, or not, as above. false: the feature says why. The first
 * call of a process can take ten seconds. */
bool cupti_subscription_begin(struct cupti_session *session);
/* Of a tick: gives it back where a library has come meanwhile whose profiler may ask for it. */
void cupti_subscription_follow(struct cupti_session *session);
/* CUPTI refuses us since somebody calls its other family (cupti_family.h): the feature says so. */
void cupti_subscription_fail_family(struct cupti_session *session);
/* Somebody has begun to use CUPTI while we did, and keeps it: the same; gives the subscription back. */
void cupti_subscription_give_way(struct cupti_session *session);
/* NULL subscriber allowed. */
void cupti_subscription_end(struct cupti_session *session);

#endif
