/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol buffers as bytes, for outputs of millions of messages, where the tables of protobuf-c cost more than all else. Fields into
 * room that is there, by who has measured them, and fields behind one another in a text, whose messages get their length at their end.
 */
#ifndef GPUPROBE_EXPORTERS_PROTOBUF_H
#define GPUPROBE_EXPORTERS_PROTOBUF_H

#include <string.h>

#include "base/text.h"
#include "base/types.h"

#define PROTOBUF_VARINT_BYTES 10 /* at most */

enum protobuf_wire {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_LENGTH = 2, /* a length, and that many bytes */
};

/* What stands in front of a field. */
#define PROTOBUF_TAG(field, wire) ((field) << 3 | (wire))

static inline size_t protobuf_varint_bytes(u64 value)
{
	unsigned bits = 64 - __builtin_clzll(value | 1);

	return (bits + 6) / 7;
}

/* How many bytes: up to PROTOBUF_VARINT_BYTES. */
static inline size_t protobuf_put_varint(u8 *to, u64 value)
{
	size_t count = 0;

	/* Most are short, and of tags the compiler knows it. */
	if (value < 0x80) {
		*to = (u8)value;
		return 1;
	}
	if (value < 0x4000) {
		to[0] = (u8)value | 0x80;
		to[1] = (u8)(value >> 7);
		return 2;
	}
	for (; value >= 0x80; value >>= 7)
		to[count++] = (u8)value | 0x80;
	to[count++] = (u8)value;
	return count;
}

/* ---- fields into room that is there: each gives the place behind it ---- */

static inline u8 *protobuf_put_number(u8 *to, u32 tag, u64 value)
{
	to += protobuf_put_varint(to, tag);
	return to + protobuf_put_varint(to, value);
}

/* Of double and fixed64 alike: little-endian, as all machines that this is built for. */
static inline u8 *protobuf_put_fixed64(u8 *to, u32 tag, const void *value)
{
	to += protobuf_put_varint(to, tag);
	memcpy(to, value, sizeof(u64));
	return to + sizeof(u64);
}

static inline u8 *protobuf_put_bytes(u8 *to, u32 tag, const void *bytes, size_t length)
{
	to = protobuf_put_number(to, tag, length);
	memcpy(to, bytes, length);
	return to + length;
}

/* ---- fields behind one another in a text ---- */

static inline void protobuf_number(struct text *text, u32 field, u64 value)
{
	u8 *to = (u8 *)text_room(text, 2 * PROTOBUF_VARINT_BYTES);

	if (to)
		text_use(text, (size_t)(protobuf_put_number(
						to, PROTOBUF_TAG(field, PROTOBUF_VARINT), value) -
					to));
}

static inline void protobuf_fixed64(struct text *text, u32 field, u64 value)
{
	u8 *to = (u8 *)text_room(text, PROTOBUF_VARINT_BYTES + sizeof(value));

	if (to)
		text_use(text, (size_t)(protobuf_put_fixed64(
						to, PROTOBUF_TAG(field, PROTOBUF_FIXED64), &value) -
					to));
}

static inline void protobuf_double(struct text *text, u32 field, double value)
{
	u64 bits;

	memcpy(&bits, &value, sizeof(bits));
	protobuf_fixed64(text, field, bits);
}

/* What stands in front of so many bytes. */
static inline void protobuf_head(struct text *text, u32 field, size_t length)
{
	u8 *to = (u8 *)text_room(text, 2 * PROTOBUF_VARINT_BYTES);

	if (to)
		text_use(text, (size_t)(protobuf_put_number(
						to, PROTOBUF_TAG(field, PROTOBUF_LENGTH), length) -
					to));
}

/* How long that is. */
static inline size_t protobuf_head_bytes(u32 field, size_t length)
{
	return protobuf_varint_bytes(PROTOBUF_TAG(field, PROTOBUF_LENGTH)) +
	       protobuf_varint_bytes(length);
}

static inline void protobuf_bytes(struct text *text, u32 field, const void *bytes, size_t length)
{
	protobuf_head(text, field, length);
	text_append_bytes(text, bytes, length);
}

static inline void protobuf_string(struct text *text, u32 field, const char *string)
{
	protobuf_bytes(text, field, string, strlen(string));
}

/* A message in a field of one number, or of two; second 0: of one. Shorter than 128 bytes, so its length is one byte. */
static inline void protobuf_numbers(struct text *text, u32 field, u32 first, u64 value, u32 second, u64 other)
{
	u8 *begin = (u8 *)text_room(text, 6 * PROTOBUF_VARINT_BYTES), *length, *to;

	if (!begin)
		return;
	length = begin + protobuf_put_varint(begin, PROTOBUF_TAG(field, PROTOBUF_LENGTH));
	to = protobuf_put_number(length + 1, PROTOBUF_TAG(first, PROTOBUF_VARINT), value);
	if (second)
		to = protobuf_put_number(to, PROTOBUF_TAG(second, PROTOBUF_VARINT), other);
	*length = (u8)(to - length - 1);
	text_use(text, (size_t)(to - begin));
}

/* A message in a field: what is appended up to its end. Of several that are open the last one ends first. Gives what the end is told. */
size_t protobuf_begin(struct text *text, u32 field);
void protobuf_end(struct text *text, size_t begun);

#endif
