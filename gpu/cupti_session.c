#include "cupti_session.h"

#include <string.h>

#include "system.h"

/* Of a buffer beyond the agreed number, for versions that must not be left without one: as no other buffer is. */
#define EXTRA_BYTES (17 * PAGE_BYTES)

#define DEVICES_ASKED_MAX 10

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
	*buffer = cupti_buffers_take(&session->buffers);
	*bytes = session->buffers.buffer_bytes;
	if (*buffer)
		return;
	*bytes = 0;
	if (session->version >= CUPTI_VERSION_NO_BUFFER_SAFE)
		return; /* it drops, and counts what it drops */
	*buffer = system_map(EXTRA_BYTES);
	*bytes = *buffer ? EXTRA_BYTES : 0;
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

void cupti_session_completed(void *context, u32 stream, u8 *buffer, size_t bytes,
			     size_t valid_bytes, struct cupti_session *session)
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
		system_unmap(buffer, bytes);
}

/* ---- the agent's thread ---- */

bool cupti_session_read_clock(void *session, u64 *ret_cupti)
{
	return !((struct cupti_session *)session)->library.calls.GetTimestamp(ret_cupti);
}

static void convert_buffer(struct cupti_session *session, const u8 *buffer, size_t valid_bytes)
{
	const struct cupti_calls *calls = &session->library.calls;
	void *record = NULL;

	while (!calls->ActivityGetNextRecord((u8 *)buffer, valid_bytes, &record)) {
		if ((u8 *)record < buffer || (u8 *)record >= buffer + valid_bytes)
			break;
		cupti_convert(&session->convert, record, buffer + valid_bytes - (u8 *)record);
	}
}

void cupti_session_convert(struct cupti_session *session)
{
	size_t valid_bytes;
	const u8 *buffer;
	u32 cursor = 0;

	while ((buffer = cupti_buffers_next(&session->buffers, &cursor, &valid_bytes))) {
		convert_buffer(session, buffer, valid_bytes);
		cupti_buffers_done(&session->buffers, cursor);
	}
	ring_release(session->writer);
}

void cupti_session_count_dropped(struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	size_t dropped = 0;

	if (calls->ActivityGetNumDroppedRecords &&
	    !calls->ActivityGetNumDroppedRecords(NULL, 0, &dropped) && dropped)
		ring_count(session->writer->ring, AGENT_COUNT_CUPTI_DROPPED, dropped);
}

/* Records name a GPU of which CUPTI has not told yet: it had none to tell of before the target started CUDA. */
static void ask_for_devices(struct cupti_session *session)
{
	const struct cupti_calls *calls = &session->library.calls;
	u64 missing = session->convert.devices_used & ~session->convert.devices_told;

	if (!missing || !calls->ActivityEnableAndDump ||
	    session->devices_asked == DEVICES_ASKED_MAX)
		return;
	session->devices_asked++;
	calls->ActivityEnableAndDump(CUPTI_DEVICE);
}

static void flush(struct cupti_session *session, u64 now_ns)
{
	struct agent_control *control = session->control;
	u32 wanted = __atomic_load_n(&control->flush_wanted, __ATOMIC_ACQUIRE);
	u64 period_ns = control->cupti.flush_period_ms * NS_PER_MILLISECOND;

	if (wanted == __atomic_load_n(&control->flush_done, __ATOMIC_RELAXED) &&
	    (!period_ns || now_ns - session->flushed_ns < period_ns))
		return;
	ask_for_devices(session);
	/* cuptiActivityFlushPeriod hands over full buffers only: an idle target's would stay. */
	session->library.calls.ActivityFlushAll(0);
	cupti_session_convert(session);
	cupti_session_count_dropped(session);
	session->flushed_ns = now_ns;
	__atomic_store_n(&control->flush_done, wanted, __ATOMIC_RELEASE);
}

static void follow_clock(struct cupti_session *session, u64 now_ns)
{
	if (!session->clock.fitted || now_ns - session->clock_ns < NS_PER_SECOND)
		return;
	clock_take_point(&session->clock, cupti_session_read_clock, session);
	session->control->cupti_facts.fit_residual_ns = session->clock.residual_ns;
	session->clock_ns = now_ns;
}

void cupti_session_tick(struct cupti_session *session, u64 timeout_ns)
{
	u32 seen = __atomic_load_n(&session->buffers.full_count, __ATOMIC_ACQUIRE);
	u64 now_ns = system_now_ns();

	if (session->feature->state == AGENT_FEATURE_READY) {
		follow_clock(session, now_ns);
		cupti_session_convert(session);
		flush(session, now_ns);
	}
	system_wait(&session->buffers.full_count, seen, timeout_ns);
}

void cupti_session_take_over(struct cupti_session *session)
{
	session->tid = system_tid();
}

void cupti_session_wake(struct cupti_session *session)
{
	if (session)
		system_wake(&session->buffers.full_count);
}

/* ---- begin ---- */

static const char *callback_name(void *data, u32 domain, u32 callback)
{
	struct cupti_session *session = data;
	const char *name = NULL;

	return session->library.calls.GetCallbackName(domain, callback, &name) ? NULL : name;
}

static const char *string_at(void *data, u64 address)
{
	return (const char *)address;
}

struct cupti_session *cupti_session_begin(const struct cupti_session_config *config)
{
	struct cupti_session *session = system_map(sizeof(*session));

	if (!session)
		return NULL;
	session->control = config->control;
	session->feature = &config->control->features[AGENT_FEATURE_CUPTI];
	session->writer = config->writer;
	session->loader = *config->loader;
	session->live = config->live;
	session->tid = system_tid();
	session->convert = (struct cupti_convert){
		.control = config->control,
		.writer = config->writer,
		.texts = texts_open(config->control->cupti.texts_max, config->now_ns),
		.streams = streams_open(system_pid(), config->now_ns),
		.instructions = instructions_open(system_pid(), config->now_ns),
		.clock = &session->clock,
		.pid = system_pid(),
		.fact_ns = config->now_ns,
		.callback_name = callback_name,
		.string_at = string_at,
		.data = session,
	};
	if (!session->convert.texts || !session->convert.streams ||
	    !session->convert.instructions ||
	    cupti_buffers_open(&session->buffers, config->control)) {
		cupti_session_end(session, NULL);
		return NULL;
	}
	cupti_session_start(session);
	return session;
}
