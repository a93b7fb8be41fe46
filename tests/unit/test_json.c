/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <jansson.h>

#include "base/json.h"
#include "base/utf8.h"

static void check_string(const char *bytes, size_t length, const char *expected)
{
	_cleanup_text_ struct text text = {};

	json_append_string_bytes(&text, bytes, length);
	CHECK_STRING(text_string(&text), expected);
}

#define CHECK_JSON(literal, expected) check_string(literal, sizeof(literal) - 1, expected)

TEST(strings_are_quoted_and_escaped)
{
	CHECK_JSON("", "\"\"");
	CHECK_JSON("plain", "\"plain\"");
	CHECK_JSON("say \"hi\" \\ /", "\"say \\\"hi\\\" \\\\ /\"");
	CHECK_JSON("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
	CHECK_JSON("a\0b\x1b\x7f", "\"a\\u0000b\\u001b\\u007f\"");
	CHECK_JSON("gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"");
}

TEST(broken_utf8_becomes_the_replacement_character)
{
	CHECK_JSON("\xff", "\"\xef\xbf\xbd\"");
	CHECK_JSON("a\xc3", "\"a\xef\xbf\xbd\"");
	CHECK_JSON("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Every pair of bytes, judged by a strict reader. */
TEST(a_strict_reader_takes_every_pair_of_bytes)
{
	for (unsigned pair = 0; pair < 65536; pair++) {
		char bytes[2] = {(char)(pair & 0xff), (char)(pair >> 8)};
		_cleanup_text_ struct text text = {};
		json_error_t error;
		json_t *json;
		u32 c;

		json_append_string_bytes(&text, bytes, 2);
		json = json_loadb(text.data, text.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
		if (!json)
			UNIT_FAIL("%02x %02x: %s: %s", bytes[0] & 0xff, bytes[1] & 0xff, text.data,
				  error.text);
		if (utf8_decode(bytes, 2, &c) == 2 ||
		    ((bytes[0] & 0x80) == 0 && (bytes[1] & 0x80) == 0))
			CHECK(json_string_length(json) == 2 &&
			      !memcmp(json_string_value(json), bytes, 2));
		json_decref(json);
	}
}

static const char *number(struct text *text, void (*append)(struct text *, u64), u64 value)
{
	text_clear(text);
	append(text, value);
	return text_string(text);
}

TEST(numbers_that_readers_would_round_are_hex)
{
	_cleanup_text_ struct text text = {};

	CHECK_STRING(number(&text, json_append_number, INT64_MAX), "9223372036854775807");
	CHECK_STRING(number(&text, json_append_number, 1ULL << 63), "\"0x8000000000000000\"");
}

TEST(arrays_of_addresses)
{
	_cleanup_text_ struct text text = {};
	const u64 addresses[] = {0x1a2b, 0, ~0ULL};

	json_append_hex_array(&text, addresses, 0);
	json_append_hex_array(&text, addresses, 3);
	CHECK_STRING(text_string(&text), "[][\"0x1a2b\",\"0x0\",\"0xffffffffffffffff\"]");
}

TEST(numbers)
{
	_cleanup_text_ struct text text = {};

	CHECK_STRING(number(&text, json_append_u64, 0), "0");
	CHECK_STRING(number(&text, json_append_u64, 1234567890), "1234567890");
	CHECK_STRING(number(&text, json_append_u64, UINT64_MAX), "18446744073709551615");
	CHECK_STRING(number(&text, json_append_hex, 0), "\"0x0\"");
	CHECK_STRING(number(&text, json_append_hex, 0x1a2b), "\"0x1a2b\"");
	CHECK_STRING(number(&text, json_append_hex, UINT64_MAX), "\"0xffffffffffffffff\"");
}

TEST(microseconds_keep_every_nanosecond)
{
	_cleanup_text_ struct text text = {};

	CHECK_STRING(number(&text, json_append_us, 0), "0.000");
	CHECK_STRING(number(&text, json_append_us, 1), "0.001");
	CHECK_STRING(number(&text, json_append_us, 999), "0.999");
	CHECK_STRING(number(&text, json_append_us, 1000), "1.000");
	CHECK_STRING(number(&text, json_append_us, 1234567), "1234.567");
	CHECK_STRING(number(&text, json_append_us, 1234050), "1234.050");
	CHECK_STRING(number(&text, json_append_us, UINT64_MAX), "18446744073709551.615");
}

UNIT_MAIN()
