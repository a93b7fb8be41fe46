/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/protobuf.h"

/* A byte for the length, as most messages have one of less than 128 bytes; what is longer is moved. */
size_t protobuf_begin(struct text *text, u32 field)
{
	protobuf_head(text, field, 0);
	return text->length;
}

void protobuf_end(struct text *text, size_t begun)
{
	size_t length, more;

	if (text->failed)
		return;
	length = text->length - begun;
	more = protobuf_varint_bytes(length) - 1;
	if (more) {
		if (!text_room(text, more))
			return;
		memmove(text->data + begun + more, text->data + begun, length);
		text_use(text, more);
	}
	protobuf_put_varint((u8 *)text->data + begun - 1, length);
}
