/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto_packets.h"

#include <errno.h>

#define PERFETTO_SEQUENCE 1 /* all packets are of one */

static void clear_state(struct perfetto_packets *packets, u64 ts)
{
	for (size_t i = 0; i < PERFETTO_STRINGS; i++)
		string_table_free(&packets->strings[i]);
	map_free(&packets->constants);
	packets->interned_bytes = 0;
	packets->numbers = 0;
	packets->profiles = 0;
	packets->cleared_ns = ts;
	packets->state++;
	packets->cleared = true;
}

void perfetto_packets_at(struct perfetto_packets *packets, u64 ts)
{
	if (!packets->cleared_ns || packets->interned_bytes > PERFETTO_STATE_BYTES ||
	    ts > packets->cleared_ns + PERFETTO_STATE_NS)
		clear_state(packets, ts);
}

/* ---- what is interned ---- */

static u64 note_recent(struct perfetto_packets *packets, u64 key, u64 number)
{
	struct perfetto_recent *pair = perfetto_recent_pair(packets, key);

	if (!perfetto_is_recent(packets, &pair[0], key))
		pair[1] = pair[0];
	pair[0] = (struct perfetto_recent){key, packets->state, (u32)number};
	return number;
}

static u64 intern(struct perfetto_packets *packets, enum perfetto_strings kind, const char *string)
{
	static const u32 fields[PERFETTO_STRINGS] = {
		[PERFETTO_CATEGORY] = INTERNED_CATEGORIES,
		[PERFETTO_EVENT_NAME] = INTERNED_EVENT_NAMES,
		[PERFETTO_ANNOTATION_NAME] = INTERNED_ANNOTATION_NAMES,
		[PERFETTO_ANNOTATION_STRING] = INTERNED_ANNOTATION_STRINGS,
		[PERFETTO_KERNEL_ARG] = INTERNED_KERNEL_ARGS,
		[PERFETTO_FUNCTION] = INTERNED_FUNCTIONS,
		[PERFETTO_MAPPING_PATH] = INTERNED_MAPPING_PATHS,
	};
	struct string_table *table = &packets->strings[kind];
	size_t known = table->count, length = strlen(string), begun;
	s64 number = string_table_add(table, string, length);

	if (number < 0) {
		packets->body.failed = true;
		return 0;
	}
	if (table->count == known)
		return (u64)number + 1;
	begun = protobuf_begin(&packets->interned, fields[kind]);
	protobuf_number(&packets->interned, INTERNED_ID, (u64)number + 1);
	protobuf_string(&packets->interned, INTERNED_STRING, text_utf8(string, &packets->scratch));
	protobuf_end(&packets->interned, begun);
	packets->interned_bytes += length + sizeof(struct map_slot);
	return (u64)number + 1;
}

u64 perfetto_intern(struct perfetto_packets *packets, enum perfetto_strings kind,
		    const char *string)
{
	u64 key = perfetto_recent_key(PERFETTO_RECENT_STRING + kind, (uintptr_t)string), number;
	const struct perfetto_recent *recent = perfetto_find_recent(packets, key);

	/* Another string may stand there now. */
	if (recent && !strcmp(packets->strings[kind].strings[recent->number - 1], string))
		return recent->number;
	number = intern(packets, kind, string);
	return number ? note_recent(packets, key, number) : 0;
}

u64 perfetto_look_up_constant(struct perfetto_packets *packets, enum perfetto_strings kind,
			      const char *string)
{
	u64 address = (uintptr_t)string, number;
	const u64 *known = map_find(&packets->constants, address, kind);

	if (known) {
		number = *known;
	} else {
		number = intern(packets, kind, string);
		packets->interned_bytes += sizeof(struct map_slot);
		if (map_set(&packets->constants, address, kind, number) < 0)
			packets->body.failed = true;
	}
	return note_recent(packets, perfetto_recent_key(PERFETTO_RECENT_CONSTANT + kind, address),
			   number);
}

bool perfetto_number(struct perfetto_packets *packets, u32 field, u64 key, u64 *ret_number)
{
	const u64 *known = map_find(&packets->constants, key, field + PERFETTO_STRINGS);

	if (known) {
		*ret_number = *known;
		return false;
	}
	*ret_number = ++packets->numbers;
	packets->interned_bytes += sizeof(struct map_slot);
	if (map_set(&packets->constants, key, field + PERFETTO_STRINGS, *ret_number) < 0)
		packets->body.failed = true;
	return true;
}

static bool is_told(struct perfetto_packets *packets, u32 field, u64 number)
{
	/* Above the kinds of strings, whose constants are in the same map. */
	if (map_find(&packets->constants, number, field + PERFETTO_STRINGS))
		return true;
	packets->interned_bytes += sizeof(struct map_slot);
	if (map_set(&packets->constants, number, field + PERFETTO_STRINGS, 0) < 0)
		packets->body.failed = true;
	return false;
}

bool perfetto_is_told(struct perfetto_packets *packets, u32 field, u64 number)
{
	u64 key = perfetto_recent_key(PERFETTO_RECENT_NUMBER + field, number);

	if (perfetto_find_recent(packets, key))
		return true;
	note_recent(packets, key, 0);
	return is_told(packets, field, number);
}

void perfetto_append_string(struct perfetto_packets *packets, u32 field, const char *string)
{
	protobuf_string(&packets->body, field, text_utf8(string, &packets->scratch));
}

/* ---- packets: all that is in one is measured before, so that nothing is moved when its length is known ---- */

#define HEAD_BYTES (3 * 2 * PROTOBUF_VARINT_BYTES) /* what stands in front, at most */

static u8 *put_message(u8 *to, u32 field, const struct text *message)
{
	to = protobuf_put_number(to, PROTOBUF_TAG(field, PROTOBUF_LENGTH), message->length);
	if (message->length)
		memcpy(to, message->data, message->length);
	return to + message->length;
}

static int write_packet(struct perfetto_packets *packets, const u8 head[HEAD_BYTES],
			size_t head_bytes, u32 field, struct err *err)
{
	struct text *text = &packets->writer.text;
	const struct text *body = &packets->body, *interned = &packets->interned;
	size_t length = head_bytes + protobuf_head_bytes(field, body->length) + body->length;
	u8 *begin, *to;

	if (interned->length)
		length += protobuf_head_bytes(PACKET_INTERNED_DATA, interned->length) +
			  interned->length;
	begin = (u8 *)text_room(text, length + 2 * HEAD_BYTES);
	if (begin) {
		to = protobuf_put_number(begin, PROTOBUF_TAG(TRACE_PACKET, PROTOBUF_LENGTH),
					 length);
		/* All of it: of a size that the compiler knows. */
		memcpy(to, head, HEAD_BYTES);
		to += head_bytes;
		if (interned->length)
			to = put_message(to, PACKET_INTERNED_DATA, interned);
		to = put_message(to, field, body);
		text_use(text, (size_t)(to - begin));
	}
	text->failed |= body->failed | interned->failed | packets->scratch.failed;
	text_clear(&packets->body);
	if (interned->length)
		text_clear(&packets->interned);
	return writer_flush(&packets->writer, err);
}

static u8 *put_number(u8 *to, u32 field, u64 value)
{
	return protobuf_put_number(to, PROTOBUF_TAG(field, PROTOBUF_VARINT), value);
}

int perfetto_packet_write(struct perfetto_packets *packets, u64 ts, u32 field, struct err *err)
{
	u8 head[HEAD_BYTES], *to = put_number(head, PACKET_TIMESTAMP, ts);

	to = put_number(to, PACKET_SEQUENCE_ID, PERFETTO_SEQUENCE);
	to = put_number(to, PACKET_SEQUENCE_FLAGS,
			SEQUENCE_NEEDED | (packets->cleared ? SEQUENCE_CLEARED : 0));
	packets->cleared = false;
	return write_packet(packets, head, (size_t)(to - head), field, err);
}

int perfetto_packet_write_timeless(struct perfetto_packets *packets, u32 field, struct err *err)
{
	u8 head[HEAD_BYTES], *to = put_number(head, PACKET_SEQUENCE_ID, PERFETTO_SEQUENCE);

	return write_packet(packets, head, (size_t)(to - head), field, err);
}

/* Shorter than 128 bytes, so both lengths are one byte, which is written last. */
static int write_end(struct perfetto_packets *packets, u64 ts, u64 track, struct err *err)
{
	struct text *text = &packets->writer.text;
	u8 *begin = (u8 *)text_room(text, 2 * HEAD_BYTES), *length, *event_length, *to;

	if (begin) {
		length = begin +
			 protobuf_put_varint(begin, PROTOBUF_TAG(TRACE_PACKET, PROTOBUF_LENGTH));
		to = put_number(length + 1, PACKET_TIMESTAMP, ts);
		to = put_number(to, PACKET_SEQUENCE_ID, PERFETTO_SEQUENCE);
		event_length = to + protobuf_put_varint(
					    to, PROTOBUF_TAG(PACKET_TRACK_EVENT, PROTOBUF_LENGTH));
		to = put_number(event_length + 1, EVENT_TYPE, TYPE_END);
		to = put_number(to, EVENT_TRACK, track);
		*event_length = (u8)(to - event_length - 1);
		*length = (u8)(to - length - 1);
		text_use(text, (size_t)(to - begin));
	}
	return writer_flush(&packets->writer, err);
}

/* Begin and end at once: readers sort by time, and keep the order of the file at the same moment. Spans of a track come in the order of their
 * begins and nest, so all ends of a moment stand before the begins of that moment, but of what takes no time, whose end is behind its
 * begin. */
int perfetto_packet_write_span(struct perfetto_packets *packets, u64 ts, u64 dur, u64 track,
			       struct err *err)
{
	int result = perfetto_packet_write(packets, ts, PACKET_TRACK_EVENT, err);

	return result < 0 ? result : write_end(packets, ts + dur, track, err);
}

void perfetto_packets_free(struct perfetto_packets *packets)
{
	clear_state(packets, 0);
	text_free(&packets->body);
	text_free(&packets->interned);
	text_free(&packets->scratch);
}
