/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that are new in 13.2 and 13.3, under names of our own: the headers of the build may have them or not. What is
 * a structure of CUPTI's and not looked at is void here.
 */
#ifndef SIM_SUBSCRIBER_H
#define SIM_SUBSCRIBER_H

#include "cupti_sim.h"

#define SIM_V2(name, ...)                                              \
	CUptiResult sim_##name##_v2(CUpti_SubscriberHandle subscriber, \
				    ##__VA_ARGS__) __asm__("cupti" #name "_v2")

typedef void (*sim_requested_v2)(uint8_t **buffer, size_t *size, size_t *max_records, void *info);
typedef void (*sim_completed_v2)(uint8_t *buffer, size_t size, size_t valid, void *info);

SIM_V2(ActivityEnable, CUpti_ActivityKind kind, void *config);
SIM_V2(ActivityEnableAndDump, CUpti_ActivityKind kind, void *config);
SIM_V2(ActivityDisable, CUpti_ActivityKind kind, void *config);
SIM_V2(ActivityEnableRuntimeApi, CUpti_CallbackId cbid, uint8_t on);
SIM_V2(ActivityEnableDriverApi, CUpti_CallbackId cbid, uint8_t on);
SIM_V2(ActivityRegisterCallbacks, sim_requested_v2 requested, sim_completed_v2 completed);
SIM_V2(ActivitySetAttribute, unsigned attribute, size_t *size, void *value);
SIM_V2(ActivityGetAttribute, unsigned attribute, size_t *size, void *value);
SIM_V2(ActivityGetNumDroppedRecords, CUcontext context, uint32_t stream, size_t *count);
SIM_V2(ActivityGetNextRecord, uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record);
SIM_V2(GetTimestamp, uint64_t *time);

#endif
