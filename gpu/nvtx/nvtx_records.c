/* SPDX-License-Identifier: MIT */
/* Ranges and marks as records, in the window. */
#include "nvtx_session.h"

#include "../base/absent.h"

/* The three kinds have their common fields at the same places. */
_Static_assert(offsetof(struct record_range, payload_double_bits) ==
			       offsetof(struct record_mark, payload_double_bits) &&
		       offsetof(struct record_range, ended) ==
			       offsetof(struct record_process_range, ended),
	       "fields of ranges and marks");

static bool in_window(const struct agent_control *control, u64 start_ns, u64 dur)
{
	u64 opened_ns = __atomic_load_n(&control->window_start_ns, __ATOMIC_ACQUIRE);
	u64 closed_ns = __atomic_load_n(&control->window_end_ns, __ATOMIC_ACQUIRE);

	return opened_ns && (dur == RECORD_DURATION_OPEN || start_ns + dur >= opened_ns) &&
	       (!closed_ns || start_ns <= closed_ns);
}

static void fill(struct nvtx_session *session, struct ring_writer *writer,
		 struct record_range *record, const struct nvtx_range *range)
{
	record->header.ts = range->start_ns;
	record->header.pid = session->pid;
	record->header.tid = range->tid;
	record->header.name = nvtx_texts_send(session->texts, writer, range->name);
	record->domain = nvtx_texts_send(session->texts, writer, range->domain_name);
	record->category_name = nvtx_texts_send(session->texts, writer, range->category_name);
	record->category = range->category;
	record->color = range->color;
	if (range->payload_type == NVTX_PAYLOAD_UNSIGNED)
		record->payload = range->payload;
	else if (range->payload_type == NVTX_PAYLOAD_SIGNED)
		record->payload_signed = range->payload;
	else if (range->payload_type == NVTX_PAYLOAD_DOUBLE)
		record->payload_double_bits = range->payload;
}

void nvtx_session_send(struct nvtx_session *session, struct ring_writer *writer, u16 kind,
		       const struct nvtx_range *range, u64 dur, u8 ended)
{
	const struct record_header *absent = absent_record(kind);
	struct record_range record;
	void *room;

	if (!in_window(session->control, range->start_ns, dur)) {
		ring_count(&session->ring, AGENT_COUNT_OUTSIDE_WINDOW, 1);
		return;
	}
	memcpy(&record, absent, absent->size_bytes);
	fill(session, writer, &record, range);
	record.header.dur = dur;
	if (kind != KIND_mark)
		record.ended = ended;
	room = ring_reserve(writer, absent->size_bytes);
	if (!room) {
		ring_count(&session->ring, AGENT_COUNT_RING_FULL, 1);
		return;
	}
	memcpy(room, &record, absent->size_bytes);
	ring_commit(writer, absent->size_bytes);
	ring_count(&session->ring, AGENT_COUNT_RANGES, 1);
}
