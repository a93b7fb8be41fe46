/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rest of the functions whose first argument is a subscriber (13.2, 13.3): what they say is as in their headers. */
#include <string.h>
#include "chosen.h"
#include "subscriber.h"

/* Of CUpti_ActivityAttribute, newer than the headers of the build. */
enum {
	SHARING_STATE = 12,
	LATENCY_TIMESTAMPS = 15,
	EVENT_TIMESTAMPS = 17,
	THREAD_ID_TYPE = 21,
};

CUptiResult sim_ActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber,
					     sim_requested_v2 requested, sim_completed_v2 completed)
{
	struct sim_client client = {.requested_v2 = requested, .completed_v2 = completed};
	unsigned number;
	CUptiResult result = sim_gate_new("cuptiActivityRegisterCallbacks_v2", subscriber, &number);

	if (!result && (!requested || !completed))
		result = CUPTI_ERROR_INVALID_PARAMETER;
	return result ? result : sim_buffer_register(number, &client);
}

/* These are each subscriber's own in the real library; here the last one who sets them sets them for all. */
CUptiResult sim_ActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber, unsigned attribute,
					size_t *size, void *value)
{
	unsigned number;
	CUptiResult result = sim_gate_new("cuptiActivitySetAttribute_v2", subscriber, &number);

	if (result)
		return result;
	if (!size || !value || !*size)
		return CUPTI_ERROR_INVALID_PARAMETER;
	switch (attribute) {
	case SIM_USER_DEFINED_RECORDS:
		if (sim_version()->code < 13030)
			return CUPTI_ERROR_NOT_SUPPORTED;
		sim_chosen_want(number, *(const uint8_t *)value);
		return CUPTI_SUCCESS;
	case LATENCY_TIMESTAMPS:
		sim_state.latency_timestamps = *(const uint8_t *)value;
		return CUPTI_SUCCESS;
	case EVENT_TIMESTAMPS:
		sim_state.event_timestamps = *(const uint8_t *)value;
		return CUPTI_SUCCESS;
	case THREAD_ID_TYPE:
		if (*size != sizeof(uint32_t))
			return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
		memcpy(&sim_state.thread_id_type, value, sizeof(uint32_t));
		return CUPTI_SUCCESS;
	default:
		return CUPTI_ERROR_NOT_SUPPORTED;
	}
}

/* The subscriber may be NULL; the question is one of the new functions' all the same. */
CUptiResult sim_ActivityGetAttribute_v2(CUpti_SubscriberHandle subscriber, unsigned attribute,
					size_t *size, void *value)
{
	CUptiResult result = sim_gate("cuptiActivityGetAttribute_v2");

	if (!result && sim_version()->code >= 13030) {
		if (sim_state.family == SIM_FAMILY_OLD)
			return CUPTI_ERROR_NOT_COMPATIBLE;
		sim_state.family = SIM_FAMILY_NEW;
	}
	if (result)
		return result;
	if (!size || !value || !*size || attribute != SHARING_STATE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*(uint8_t *)value = sim_state.shared;
	return CUPTI_SUCCESS;
}

CUptiResult sim_ActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber,
						CUcontext context, uint32_t stream, size_t *count)
{
	unsigned number;
	CUptiResult result =
		sim_gate_new("cuptiActivityGetNumDroppedRecords_v2", subscriber, &number);

	if (!result)
		*count = sim_buffer_dropped(number);
	return result;
}

CUptiResult sim_GetTimestamp_v2(CUpti_SubscriberHandle subscriber, uint64_t *time)
{
	unsigned number;
	CUptiResult result = sim_gate_new("cuptiGetTimestamp_v2", subscriber, &number);

	if (!result)
		*time = sim_clock_now();
	return result;
}
