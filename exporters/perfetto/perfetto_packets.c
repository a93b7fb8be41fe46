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

/* ---- what was asked for last ---- */

/* The kinds of what is looked up: of strings that may move, strings that do not, and numbers by their field. */
#define KIND_CONSTANT PERFETTO_STRINGS
#define KIND_NUMBER   (2 * PERFETTO_STRINGS)

/* Two that share their places are both kept. */
static struct perfetto_recent *recent_of(struct perfetto_packets *packets, u64 key, u32 kind)
{
	u64 mixed = (key ^ (u64)kind << 56) * 0x9e3779b97f4a7c15ULL;

	return &packets->recent[mixed >> 32 & (PERFETTO_RECENT - 2)];
}

static bool is_recent(const struct perfetto_packets *packets, const struct perfetto_recent *recent,
		      u64 key, u32 kind)
{
	return recent->key == key && recent->kind == kind && recent->state == packets->state &&
	       packets->state;
}

/* NULL: it was not asked for lately. */
static const struct perfetto_recent *find_recent(struct perfetto_packets *packets, u64 key,
						 u32 kind)
{
	const struct perfetto_recent *pair = recent_of(packets, key, kind);

	if (is_recent(packets, &pair[0], key, kind))
		return &pair[0];
	return is_recent(packets, &pair[1], key, kind) ? &pair[1] : NULL;
}

static u64 note_recent(struct perfetto_packets *packets, u64 key, u32 kind, u64 number)
{
	struct perfetto_recent *pair = recent_of(packets, key, kind);

	if (!is_recent(packets, &pair[0], key, kind))
		pair[1] = pair[0];
	pair[0] = (struct perfetto_recent){key, packets->state, kind, (u32)number};
	return number;
}

/* ---- what is interned ---- */

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
	u64 key = (u64)(uintptr_t)string, number;
	const struct perfetto_recent *recent = find_recent(packets, key, kind);

	/* Another string may stand there now. */
	if (recent && !strcmp(packets->strings[kind].strings[recent->number - 1], string))
		return recent->number;
	number = intern(packets, kind, string);
	return number ? note_recent(packets, key, kind, number) : 0;
}

static u64 intern_constant(struct perfetto_packets *packets, enum perfetto_strings kind,
			   const char *string)
{
	const u64 *known = map_find(&packets->constants, (u64)(uintptr_t)string, kind);
	u64 number;

	if (known)
		return *known;
	number = intern(packets, kind, string);
	packets->interned_bytes += sizeof(struct map_slot);
	if (map_set(&packets->constants, (u64)(uintptr_t)string, kind, number) < 0)
		packets->body.failed = true;
	return number;
}

u64 perfetto_intern_constant(struct perfetto_packets *packets, enum perfetto_strings kind,
			     const char *string)
{
	u64 key = (u64)(uintptr_t)string;
	const struct perfetto_recent *recent = find_recent(packets, key, KIND_CONSTANT + kind);

	return recent ? recent->number
		      : note_recent(packets, key, KIND_CONSTANT + kind,
				    intern_constant(packets, kind, string));
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
	if (find_recent(packets, number, KIND_NUMBER + field))
		return true;
	note_recent(packets, number, KIND_NUMBER + field, 0);
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

int perfetto_packet_write_end(struct perfetto_packets *packets, u64 ts, u64 track, struct err *err)
{
	struct text *text = &packets->writer.text;
	u8 head[HEAD_BYTES], event[HEAD_BYTES], *to = put_number(head, PACKET_TIMESTAMP, ts);
	u8 *end = put_number(event, EVENT_TYPE, TYPE_END), *begin;
	size_t length;

	to = put_number(to, PACKET_SEQUENCE_ID, PERFETTO_SEQUENCE);
	end = put_number(end, EVENT_TRACK, track);
	length = (size_t)(end - event);
	begin = (u8 *)text_room(text, 4 * HEAD_BYTES);
	if (begin) {
		u8 *at = protobuf_put_number(
			begin, PROTOBUF_TAG(TRACE_PACKET, PROTOBUF_LENGTH),
			(size_t)(to - head) + protobuf_head_bytes(PACKET_TRACK_EVENT, length) +
				length);

		memcpy(at, head, HEAD_BYTES);
		at = protobuf_put_number(at + (to - head),
					 PROTOBUF_TAG(PACKET_TRACK_EVENT, PROTOBUF_LENGTH), length);
		memcpy(at, event, HEAD_BYTES);
		text_use(text, (size_t)(at + length - begin));
	}
	return writer_flush(&packets->writer, err);
}

void perfetto_packets_free(struct perfetto_packets *packets)
{
	clear_state(packets, 0);
	text_free(&packets->body);
	text_free(&packets->interned);
	text_free(&packets->scratch);
}
