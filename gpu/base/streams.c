/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include <string.h>

#include "../../bpf/record.h"
#include "system.h"

#define STREAM_SLOTS  8192U /* a power of two, of which 3/4 are used at most */
#define CONTEXT_SLOTS 4096U /* the same */
#define NOT_KNOWN     0xffffffffU

struct stream {
	u32 context, number;
	u32 id; /* 0: the slot is empty */
	u32 device;
	bool sent;
};

struct context {
	u32 id, device;
	bool used; /* 0 is an id too */
};

struct streams {
	u32 pid;
	u64 fact_ns;
	u32 count, context_count;
	struct context contexts[CONTEXT_SLOTS];
	struct stream slots[STREAM_SLOTS];
};

struct streams *streams_open(u32 pid, u64 fact_ns)
{
	struct streams *streams = system_map(sizeof(*streams));

	if (streams) {
		streams->pid = pid;
		streams->fact_ns = fact_ns;
	}
	return streams;
}

void streams_close(struct streams *streams)
{
	system_unmap(streams, sizeof(*streams));
}

/* Its slot, or the empty one where it would stand. */
static struct context *context_slot(const struct streams *streams, u32 context)
{
	u32 slot = (context * 0x9e3779b1U) >> 12;
	const struct context *found;

	for (;; slot++) {
		found = &streams->contexts[slot % CONTEXT_SLOTS];
		if (!found->used || found->id == context)
			return (struct context *)found;
	}
}

void streams_set_context(struct streams *streams, struct ring_writer *writer, u32 context,
			 u32 device)
{
	struct context *slot = context_slot(streams, context);

	if (!slot->used && streams->context_count == CONTEXT_SLOTS / 4 * 3) {
		ring_count(writer->ring, AGENT_COUNT_FACTS_CAPPED, 1);
		return;
	}
	streams->context_count += !slot->used;
	*slot = (struct context){context, device, true};
}

u32 streams_device(const struct streams *streams, u32 context)
{
	const struct context *slot = context_slot(streams, context);

	return slot->used ? slot->device : NOT_KNOWN;
}

static void send(struct streams *streams, struct ring_writer *writer, struct stream *stream)
{
	struct record_stream *record = ring_reserve(writer, sizeof(*record));

	if (!record)
		return;
	*record = (struct record_stream){
		.header = {.size_bytes = sizeof(*record),
			   .kind = KIND_stream,
			   .ts = streams->fact_ns,
			   .pid = streams->pid},
		.id = stream->id,
		.device = stream->device,
		.context = stream->context,
		.number = stream->number,
	};
	ring_commit(writer, sizeof(*record));
	stream->sent = true;
}

u32 streams_put(struct streams *streams, struct ring_writer *writer, u32 context, u32 device,
		u32 number)
{
	u32 slot = (context * 0x9e3779b1U ^ number * 0x85ebca6bU) >> 7;
	struct stream *stream;

	for (;; slot++) {
		stream = &streams->slots[slot % STREAM_SLOTS];
		if (!stream->id || (stream->context == context && stream->number == number))
			break;
	}
	if (!stream->id) {
		if (streams->count == STREAM_SLOTS / 4 * 3) {
			ring_count(writer->ring, AGENT_COUNT_FACTS_CAPPED, 1);
			return STREAM_NONE;
		}
		*stream = (struct stream){context, number, ++streams->count, device, false};
	}
	/* A record that knew no device may have come first. */
	if (stream->device == NOT_KNOWN && device != NOT_KNOWN) {
		stream->device = device;
		stream->sent = false;
	}
	if (!stream->sent)
		send(streams, writer, stream);
	return stream->id;
}
