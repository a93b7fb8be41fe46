/* SPDX-License-Identifier: MIT */
#include "cupti_session.h"

#include <string.h>

#include "cupti_canary.h"
#include "cupti_family.h"
#include "../base/system.h"

#define PERIOD_NS	     NS_PER_SECOND
#define UNANSWERED_MAX	     3
#define LAUNCHES_WITHOUT_MIN 32
/* Kernels may run for long, and launches queue up behind them. */
#define WITHOUT_NS     (5 * NS_PER_SECOND)
#define THREAD_BUFFERS 9 /* CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, u8 */

/* Offsets in records of API calls and of kernels, the same in all versions (docs/cupti.md). */
#define API_CALLBACK 4
#define API_START    8
#define API_THREAD   28
#define API_BYTES    40
#define KERNEL_START 16
#define KERNEL_BYTES 120

/*
 * CUpti_driver_api_trace_cbid and CUpti_runtime_api_trace_cbid of calls that launch a kernel each. A graph may have none, or is
 * one record of another kind.
 */
static const u16 driver_launches[] = {307, 442, 477, 478, 652, 653};
static const u16 runtime_launches[] = {211, 214, 269, 270, 430, 431, 505, 506};

static bool has(const u16 *ids, size_t count, u32 id)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static u32 u32_at(const void *record, u32 offset)
{
	u32 value;

	memcpy(&value, (const u8 *)record + offset, sizeof(value));
	return value;
}

static u64 u64_at(const void *record, u32 offset)
{
	u64 value;

	memcpy(&value, (const u8 *)record + offset, sizeof(value));
	return value;
}

/*
 * Where threads share a buffer, one that a kernel which still runs is in is not handed over, and all other records in it
 * neither, however long the kernel takes (cuptiActivityFlushAll).
 */
static bool has_own_buffer(const struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	u8 value = 0;
	size_t bytes = sizeof(value);

	return !session->several && session->version >= CUPTI_VERSION_THREAD_BUFFERS &&
	       calls->ActivityGetAttribute &&
	       !calls->ActivityGetAttribute(THREAD_BUFFERS, &bytes, &value) && value == 1;
}

void cupti_canary_begin(struct cupti_session *session)
{
	session->canary.on = session->library.driver_get_version && has_own_buffer(session) &&
			     cupti_can_switch_calls(session) &&
			     !cupti_switch_call(session, CUPTI_DRIVER, CUPTI_DRIVER_GET_VERSION, 1);
}

void cupti_canary_end(struct cupti_session *session)
{
	if (session->canary.on)
		cupti_switch_call(session, CUPTI_DRIVER, CUPTI_DRIVER_GET_VERSION, 0);
	session->canary.on = false;
}

void cupti_canary_call(struct cupti_session *session, u64 now_ns)
{
	struct cupti_canary *canary = &session->canary;
	int version;

	if (!canary->on || now_ns - canary->called_ns < PERIOD_NS)
		return;
	canary->called_ns = now_ns;
	canary->unanswered++;
	session->library.driver_get_version(&version);
}

/* Records of several threads come in no order: those that are counted here are later than each kernel that came. */
static void see_launch(struct cupti_session *session, u64 start)
{
	struct cupti_canary *canary = &session->canary;

	if (start <= canary->kernel_start)
		return;
	if (!canary->launches_without++) {
		canary->first_without = canary->last_without = start;
		canary->first_without_ns = clock_convert(&session->clock, start);
	}
	if (start > canary->last_without)
		canary->last_without = start;
}

static void see_kernel(struct cupti_canary *canary, u64 start)
{
	if (start > canary->kernel_start)
		canary->kernel_start = start;
	if (start >= canary->first_without)
		canary->launches_without = 0;
}

bool cupti_canary_sees(struct cupti_session *session, const void *record, size_t room_bytes)
{
	u32 kind = room_bytes >= API_BYTES ? u32_at(record, 0) : 0;

	if (kind == CUPTI_DRIVER && u32_at(record, API_CALLBACK) == CUPTI_DRIVER_GET_VERSION &&
	    u32_at(record, API_THREAD) == session->tid) {
		session->canary.unanswered = 0;
		session->canary.answered_ns = session->canary.called_ns;
		return true;
	}
	/* Not silent, whatever became of the canary's. */
	session->canary.unanswered = 0;
	if ((kind == CUPTI_DRIVER &&
	     has(driver_launches, ARRAY_SIZE(driver_launches), u32_at(record, API_CALLBACK))) ||
	    (kind == CUPTI_RUNTIME &&
	     has(runtime_launches, ARRAY_SIZE(runtime_launches), u32_at(record, API_CALLBACK))))
		see_launch(session, u64_at(record, API_START));
	else if ((kind == CUPTI_SERIAL_KERNEL || kind == CUPTI_KERNEL) &&
		 room_bytes >= KERNEL_BYTES)
		see_kernel(&session->canary, u64_at(record, KERNEL_START));
	return false;
}

u32 cupti_canary_judge(struct cupti_session *session, u64 now_ns, u64 *ret_since_ns)
{
	const struct cupti_canary *canary = &session->canary;
	u64 kernels = 1ULL << CUPTI_SERIAL_KERNEL | 1ULL << CUPTI_KERNEL;

	if (canary->on && canary->answered_ns && canary->unanswered >= UNANSWERED_MAX) {
		*ret_since_ns = canary->answered_ns;
		return CUPTI_LOST_SILENT;
	}
	if (canary->kernel_start && canary->launches_without >= LAUNCHES_WITHOUT_MIN &&
	    session->control->cupti_facts.kinds_enabled & kernels &&
	    now_ns - canary->first_without_ns > WITHOUT_NS &&
	    clock_convert(&session->clock, canary->last_without) - canary->first_without_ns >
		    WITHOUT_NS) {
		*ret_since_ns = canary->first_without_ns;
		return CUPTI_LOST_KERNELS;
	}
	return 0;
}
