/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields and messages in a text, against lengths that are known. */
#include "unit.h"

#include <string.h>

#include "exporters/protobuf.h"

TEST(fields)
{
	static const u8 expected[] = {0x08, 0x96, 0x01,	      /* 1: 150 */
				      0x12, 0x02, 'a',	0xff, /* 2: bytes */
				      0xf9, 0x02, 0,	0,    0,  0, 0, 0, 0xf0, 0x3f, /* 47: 1.0 */
				      0xc2, 0xbb, 0x01, 0x01, 'b'}; /* 3000: "b" */
	struct text text = {0};

	protobuf_number(&text, 1, 150);
	protobuf_bytes(&text, 2, "a\xff", 2);
	protobuf_double(&text, 47, 1.0);
	protobuf_string(&text, 3000, "b");
	CHECK_U64(text.length, sizeof(expected));
	CHECK(memcmp(text.data, expected, sizeof(expected)) == 0);
	text_free(&text);
}

static size_t read_varint(const struct text *text, size_t *at)
{
	size_t value = 0;
	unsigned shift = 0;

	do
		value |= (size_t)((u8)text->data[*at] & 0x7f) << shift;
	while (shift += 7, (u8)text->data[(*at)++] & 0x80);
	return value;
}

/* A message in a message, each side of where a length takes a byte more. */
TEST(messages_have_their_lengths)
{
	static const size_t lengths[] = {0,   1,   121,	  122,	 123,	124,   125,    126,
					 127, 128, 16379, 16380, 16381, 16384, 3000000};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct text text = {0};
		size_t outer, inner, at = 0, outer_bytes, inner_bytes, j;

		outer = protobuf_begin(&text, 1);
		inner = protobuf_begin(&text, 2);
		for (j = 0; j < lengths[i]; j++)
			text_append_char(&text, (char)('a' + j % 26));
		protobuf_end(&text, inner);
		protobuf_number(&text, 3, 5);
		protobuf_end(&text, outer);
		CHECK_U64(read_varint(&text, &at), PROTOBUF_TAG(1, PROTOBUF_LENGTH));
		outer_bytes = read_varint(&text, &at);
		CHECK_U64(outer_bytes, text.length - at);
		CHECK_U64(read_varint(&text, &at), PROTOBUF_TAG(2, PROTOBUF_LENGTH));
		inner_bytes = read_varint(&text, &at);
		CHECK_U64(inner_bytes, lengths[i]);
		for (j = 0; j < lengths[i] && text.data[at + j] == (char)('a' + j % 26); j++)
			;
		CHECK_U64(j, lengths[i]);
		at += inner_bytes;
		CHECK_U64(read_varint(&text, &at), PROTOBUF_TAG(3, PROTOBUF_VARINT));
		CHECK_U64(read_varint(&text, &at), 5);
		CHECK_U64(at, text.length);
		text_free(&text);
	}
}

TEST(messages_of_one_number_or_two_are_as_any)
{
	static const u64 values[] = {0, 1, 127, 128, 16384, ~0ULL};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		for (u32 second = 0; second <= 3000; second += 3000) {
			struct text plain = {0}, text = {0};
			size_t begun = protobuf_begin(&plain, 21);

			protobuf_number(&plain, 1, values[i]);
			if (second)
				protobuf_number(&plain, second, ~values[i]);
			protobuf_end(&plain, begun);
			protobuf_numbers(&text, 21, 1, values[i], second, ~values[i]);
			CHECK_U64(text.length, plain.length);
			CHECK(!memcmp(text.data, plain.data, plain.length));
			text_free(&plain);
			text_free(&text);
		}
}

UNIT_MAIN()
