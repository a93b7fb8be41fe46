/* SPDX-License-Identifier: MIT */
/*
 * CUPTI has two families of functions for activities: those of old, for the whole process, and from 13.2 on those whose first
 * argument is a subscriber ("_v2"). From 13.3 on the first call of one shuts the other out for the process (error 14), until the
 * last subscriber is gone; in 13.2 a subscriber who shares CUPTI shuts the old ones out. Here is all that the agent calls of either;
 * what both have in common it calls itself. A session is of one family from its begin to its end: session->several.
 *
 *	below 13.2			the old one
 *	13.2				the old one, and only where nobody shares CUPTI
 *	13.3, driver older than r610	the old one: that driver serves one subscriber
 *	13.3, driver r610 and later	the new one, shared, where somebody shares CUPTI already, or may (cupti_sharers.h) and no Kineto is
 *					there; else the old one: Kineto calls that, asks once in its life, and would be
 *					refused for as long (pytorch #191944)
 *
 * All return CUPTI's answer; CUPTI_NOT_CALLED: it has no such function.
 */
#ifndef GPUPROBE_GPU_CUPTI_FAMILY_H
#define GPUPROBE_GPU_CUPTI_FAMILY_H

#include "cupti_session.h"

/* Are there several subscribers here? CUPTI and driver of the session are known. */
bool cupti_family_serves_several(const struct cupti_session *session);
/* CUPTI 13.2: somebody shares it, so that the old functions are shut out. Asks it, changes nothing. */
bool cupti_family_is_shut_out(const struct cupti_session *session);

u32 cupti_register_callbacks(const struct cupti_session *session);
u32 cupti_enable(const struct cupti_session *session, u32 kind);
u32 cupti_enable_and_dump(const struct cupti_session *session, u32 kind);
u32 cupti_disable(const struct cupti_session *session, u32 kind);
/* One call of an API, CUPTI_DRIVER or CUPTI_RUNTIME, by its number. */
bool cupti_can_switch_calls(const struct cupti_session *session);
u32 cupti_switch_call(const struct cupti_session *session, u32 kind, u32 callback, u8 on);

u32 cupti_next_record(const struct cupti_session *session, const u8 *buffer, size_t valid_bytes, void **record);
u32 cupti_dropped(const struct cupti_session *session, size_t *ret_dropped);
u32 cupti_read_clock(const struct cupti_session *session, u64 *ret_time);

/* As gettid() gives them; what it was, to be set again. In the new family it is the subscriber's own, and goes with it. */
void cupti_set_thread_ids(struct cupti_session *session);
void cupti_restore_thread_ids(const struct cupti_session *session);
u32 cupti_set_latency_timestamps(const struct cupti_session *session, u8 on);
u32 cupti_set_event_timestamps(const struct cupti_session *session, u8 on);

#endif
