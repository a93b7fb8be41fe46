/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/protobuf.h"

/* A byte for the length, as most messages have one of less than 128 bytes; what is longer is moved. */
size_t protobuf_begin(struct text *text, u32 field)
{
	u8 bytes[PROTOBUF_VARINT_BYTES + 1];
	size_t length = protobuf_put_varint(bytes, PROTOBUF_TAG(field, PROTOBUF_LENGTH));

	bytes[length++] = 0;
	text_append_bytes(text, bytes, length);
	return text->length;
}

void protobuf_end(struct text *text, size_t begun)
{
	static const u8 room[PROTOBUF_VARINT_BYTES];
	size_t length, more;

	if (text->failed)
		return;
	length = text->length - begun;
	more = protobuf_varint_bytes(length) - 1;
	if (more) {
		text_append_bytes(text, room, more);
		if (text->failed)
			return;
		memmove(text->data + begun + more, text->data + begun, length);
	}
	protobuf_put_varint((u8 *)text->data + begun - 1, length);
}
