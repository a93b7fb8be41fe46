/* SPDX-License-Identifier: MIT */
#include "cupti_family.h"

#include "../resident/resident.h"

#define THREAD_ID_DEFAULT 0 /* CUpti_ActivityThreadIdType */
#define THREAD_ID_SYSTEM  1 /* as gettid() gives it */

/* Of CUpti_ActivityAttribute, from 13.2 on. */
enum {
	MULTIPLE_SUBSCRIBER_STATE = 12, /* u8: 0 one, 1 several, 2 not decided */
	LATENCY_TIMESTAMPS = 15,	/* u8 */
	EVENT_TIMESTAMPS = 17,		/* u8 */
	THREAD_ID_TYPE = 21,		/* u32 */
};

/* The function of the session's family. */
#define CALL_EITHER(session, name, ...)                                                     \
	((session)->several                                                                 \
		 ? (session)->library.calls.name##_v2((session)->subscriber, ##__VA_ARGS__) \
		 : (session)->library.calls.name(__VA_ARGS__))

bool cupti_family_serves_several(const struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;

	return session->version >= CUPTI_VERSION_SEVERAL &&
	       session->library.driver_version >= CUPTI_DRIVER_SEVERAL && calls->Subscribe_v2 &&
	       calls->ActivityRegisterCallbacks_v2 && calls->ActivityEnable_v2 &&
	       calls->ActivityDisable_v2 && calls->ActivityEnableAndDump_v2 &&
	       calls->ActivitySetAttribute_v2 && calls->ActivityGetNextRecord_v2 &&
	       calls->ActivityGetNumDroppedRecords_v2 && calls->GetTimestamp_v2 &&
	       calls->ActivityEnableRuntimeApi_v2 && calls->ActivityEnableDriverApi_v2;
}

/* From 13.3 on the question is itself one of the new family, and would shut us out: there cuptiSubscribe refuses. */
bool cupti_family_is_shut_out(const struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	u8 state = 0;
	size_t bytes = sizeof(state);

	return session->version >= CUPTI_VERSION_STRUCT_SIZE &&
	       session->version < CUPTI_VERSION_SEVERAL && calls->ActivityGetAttribute_v2 &&
	       !calls->ActivityGetAttribute_v2(NULL, MULTIPLE_SUBSCRIBER_STATE, &bytes, &state) &&
	       state == 1;
}

u32 cupti_register_callbacks(const struct cupti_session *session)
{
	return CALL_EITHER(session, ActivityRegisterCallbacks,
			   resident_requested(&session->resident),
			   resident_completed(&session->resident));
}

u32 cupti_enable(const struct cupti_session *session, u32 kind)
{
	return session->several
		       ? session->library.calls.ActivityEnable_v2(session->subscriber, kind, NULL)
		       : session->library.calls.ActivityEnable(kind);
}

u32 cupti_enable_and_dump(const struct cupti_session *session, u32 kind)
{
	const struct cupti_calls *calls = &session->library.calls;

	if (session->several)
		return calls->ActivityEnableAndDump_v2(session->subscriber, kind, NULL);
	return calls->ActivityEnableAndDump ? calls->ActivityEnableAndDump(kind) : CUPTI_NOT_CALLED;
}

u32 cupti_disable(const struct cupti_session *session, u32 kind)
{
	return session->several
		       ? session->library.calls.ActivityDisable_v2(session->subscriber, kind, NULL)
		       : session->library.calls.ActivityDisable(kind);
}

bool cupti_can_switch_calls(const struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;

	return session->several ||
	       (calls->ActivityEnableRuntimeApi && calls->ActivityEnableDriverApi);
}

u32 cupti_switch_call(const struct cupti_session *session, u32 kind, u32 callback, u8 on)
{
	return kind == CUPTI_RUNTIME ? CALL_EITHER(session, ActivityEnableRuntimeApi, callback, on)
				     : CALL_EITHER(session, ActivityEnableDriverApi, callback, on);
}

u32 cupti_next_record(const struct cupti_session *session, const u8 *buffer, size_t valid_bytes,
		      void **record)
{
	return CALL_EITHER(session, ActivityGetNextRecord, (u8 *)buffer, valid_bytes, record);
}

u32 cupti_dropped(const struct cupti_session *session, size_t *ret_dropped)
{
	const struct cupti_calls *calls = &session->library.calls;

	if (!session->several && !calls->ActivityGetNumDroppedRecords)
		return CUPTI_NOT_CALLED;
	return CALL_EITHER(session, ActivityGetNumDroppedRecords, NULL, 0, ret_dropped);
}

u32 cupti_read_clock(const struct cupti_session *session, u64 *ret_time)
{
	return CALL_EITHER(session, GetTimestamp, ret_time);
}

static u32 set_own(const struct cupti_session *session, u32 attribute, const void *value,
		   size_t bytes)
{
	return session->library.calls.ActivitySetAttribute_v2(session->subscriber, attribute,
							      &bytes, (void *)value);
}

void cupti_set_thread_ids(struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	u32 type = THREAD_ID_SYSTEM;

	if (session->several) {
		set_own(session, THREAD_ID_TYPE, &type, sizeof(type));
		return;
	}
	if (!calls->SetThreadIdType)
		return;
	if (!calls->GetThreadIdType || calls->GetThreadIdType(&session->thread_id_type_was))
		session->thread_id_type_was = THREAD_ID_DEFAULT;
	calls->SetThreadIdType(type);
}

void cupti_restore_thread_ids(const struct cupti_session *session)
{
	if (!session->several && session->library.calls.SetThreadIdType)
		session->library.calls.SetThreadIdType(session->thread_id_type_was);
}

u32 cupti_set_latency_timestamps(const struct cupti_session *session, u8 on)
{
	const struct cupti_calls *calls = &session->library.calls;

	if (session->several)
		return set_own(session, LATENCY_TIMESTAMPS, &on, sizeof(on));
	return calls->ActivityEnableLatencyTimestamps ? calls->ActivityEnableLatencyTimestamps(on)
						      : CUPTI_NOT_CALLED;
}

u32 cupti_set_event_timestamps(const struct cupti_session *session, u8 on)
{
	const struct cupti_calls *calls = &session->library.calls;

	if (session->several)
		return set_own(session, EVENT_TIMESTAMPS, &on, sizeof(on));
	return calls->ActivityEnableCudaEventDeviceTimestamps
		       ? calls->ActivityEnableCudaEventDeviceTimestamps(on)
		       : CUPTI_NOT_CALLED;
}
