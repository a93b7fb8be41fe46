/* SPDX-License-Identifier: MIT */
#include "cupti_session.h"

#include <string.h>

#include "cupti_family.h"
#include "../base/system.h"
#include "../base/target_memory.h"
#include "../base/words.h"

/* Of a buffer beyond the agreed number, for versions that must not be left without one: as no other buffer is. */
#define EXTRA_BYTES (17 * PAGE_BYTES)

static bool lives(const struct cupti_session *session)
{
	return session && __atomic_load_n(session->live, __ATOMIC_ACQUIRE);
}

/* ---- called by CUPTI ---- */

void cupti_session_requested(u8 **buffer, size_t *bytes, size_t *records_max,
			     struct cupti_session *session)
{
	*buffer = NULL;
	*bytes = 0;
	*records_max = 0;
	if (!lives(session))
		return;
	*buffer = cupti_buffers_take(&session->buffers, bytes);
	if (*buffer)
		return;
	if (session->version >= CUPTI_VERSION_NO_BUFFER_SAFE)
		return; /* it drops, and counts what it drops */
	*buffer = target_memory_allocate(EXTRA_BYTES);
	*bytes = *buffer ? EXTRA_BYTES : 0;
	if (*buffer && session->buffers.zeroed)
		memset(*buffer, 0, EXTRA_BYTES);
}

/* Of a buffer that is not read: one that was only there so that CUPTI had one, or an earlier session's. */
static void count_unread(struct cupti_session *session, const u8 *buffer, size_t valid_bytes)
{
	u64 count = 0;
	size_t offset = 0;
	u32 kind, step;

	while (offset + sizeof(kind) <= valid_bytes) {
		memcpy(&kind, buffer + offset, sizeof(kind));
		step = kind < AGENT_ACTIVITY_KINDS ? session->convert.record_bytes[kind] : 0;
		if (!step)
			break;
		count++;
		offset += step;
	}
	ring_count(session->writer->ring, AGENT_COUNT_CUPTI_DROPPED, count);
}

static void take_back(struct cupti_session *session, u8 *buffer, size_t bytes, size_t valid_bytes)
{
	if (!lives(session) || !buffer)
		return;
	if (cupti_buffers_give_back(&session->buffers, buffer, valid_bytes)) {
		/* A flush by the agent itself: it could run out of buffers before it gets to read them. */
		if (system_tid() == session->tid)
			cupti_session_convert(session);
		return;
	}
	/* Before that what comes is not of this session. */
	if (session->control->cupti_facts.kinds_enabled)
		count_unread(session, buffer, valid_bytes);
	if (bytes == EXTRA_BYTES)
		target_memory_free(buffer);
}

/* What stands before the call of a slot passes on what it got, with the session as the sixth argument. The new family's has a buffer, its bytes,
 * the valid ones and information about it. */
void cupti_session_completed(u64 first, u64 second, u64 third, u64 fourth, u64 fifth,
			     struct cupti_session *session)
{
	if (session && session->several)
		take_back(session, (u8 *)first, second, third);
	else
		take_back(session, (u8 *)third, fourth, fifth);
}

/* ---- the agent's thread ---- */

bool cupti_session_read_clock(void *session, u64 *ret_cupti)
{
	return !cupti_read_clock(session, ret_cupti);
}

/* false: there is no further one. Without CUPTI, where nothing of it may be called any more. */
static bool next_record(struct cupti_session *session, const u8 *buffer, size_t valid_bytes,
			void **record)
{
	const u8 *at = *record;
	u32 kind, step = 0;

	if (!session->others.down)
		return !cupti_next_record(session, buffer, valid_bytes, record);
	if (at) {
		memcpy(&kind, at, sizeof(kind));
		step = kind < AGENT_ACTIVITY_KINDS ? session->convert.record_bytes[kind] : 0;
		if (!step)
			return false;
	}
	at = at ? at + step : buffer;
	*record = (void *)at;
	return at + sizeof(kind) <= buffer + valid_bytes;
}

static void convert_buffer(struct cupti_session *session, const u8 *buffer, size_t valid_bytes)
{
	const struct ring *ring = session->writer->ring;
	u64 begin_ns = system_thread_cpu_ns(), converted = 0;
	void *record = NULL;

	while (next_record(session, buffer, valid_bytes, &record)) {
		const u8 *at = record;
		size_t room_bytes = buffer + valid_bytes - at;

		if (at < buffer || at >= buffer + valid_bytes)
			break;
		if (!cupti_canary_sees(session, at, room_bytes))
			cupti_convert(&session->convert, at, room_bytes);
		converted++;
	}
	ring_count(ring, AGENT_COUNT_CONVERTED, converted);
	ring_count(ring, AGENT_COUNT_CONVERTING_NS, system_thread_cpu_ns() - begin_ns);
}

void cupti_session_convert(struct cupti_session *session)
{
	size_t valid_bytes;
	const u8 *buffer;
	u32 index;

	/* More may come as fast as they are read. */
	for (u32 left = session->buffers.count;
	     left && (buffer = cupti_buffers_next(&session->buffers, &index, &valid_bytes));
	     left--) {
		convert_buffer(session, buffer, valid_bytes);
		cupti_buffers_done(&session->buffers, index);
	}
	ring_release(session->writer);
}

void cupti_session_fail(struct cupti_session *session, u32 state, const char *call, u32 result)
{
	const struct cupti_calls *calls = &session->library.calls;
	struct words words = words_begin(session->feature->hint, AGENT_HINT_BYTES);
	const char *meaning = NULL;

	words_add(&words, call);
	words_add(&words, ": CUPTI's error ");
	words_add_number(&words, result);
	if (calls->GetResultString && !calls->GetResultString(result, &meaning) && meaning) {
		words_add(&words, ", ");
		words_add(&words, meaning);
	}
	session->feature->result = result;
	__atomic_store_n(&session->feature->state, state, __ATOMIC_RELEASE);
}

/* CUPTI waits for its worker, which waits for the GPU, without a limit: gpuprobe has one. */
void cupti_session_flush(struct cupti_session *session, u32 flags)
{
	u64 *flushing_ns = &session->control->flushing_ns;

	__atomic_store_n(flushing_ns, system_now_ns(), __ATOMIC_RELEASE);
	session->library.calls.ActivityFlushAll(flags);
	__atomic_store_n(flushing_ns, 0, __ATOMIC_RELEASE);
}

void cupti_session_count_dropped(struct cupti_session *session)
{
	size_t dropped = 0;

	if (!session->others.lost && !cupti_dropped(session, &dropped) && dropped) {
		ring_count(session->writer->ring, AGENT_COUNT_CUPTI_DROPPED, dropped);
		/* The canary's may be one of them. */
		session->canary.unanswered = 0;
	}
}
