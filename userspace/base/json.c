/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include <string.h>

#include "base/utf8.h"

/* Control characters that have a short escape; all others are \u00XX. */
static const char json_short_escapes[128] = {
	['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
	['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
};

static bool json_is_plain(u8 c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* What is not plain ASCII. Gives the bytes consumed. */
static size_t json_append_special(struct text *text, const char *string, size_t length)
{
	u32 code_point = 0;
	size_t size = utf8_decode(string, length, &code_point);

	if (!size) {
		text_append(text, "\xef\xbf\xbd");
		return 1;
	}
	if (code_point < 128 && json_short_escapes[code_point]) {
		text_append_char(text, '\\');
		text_append_char(text, json_short_escapes[code_point]);
	} else if (code_point < 0x20 || code_point == 0x7f) {
		text_appendf(text, "\\u%04x", code_point);
	} else {
		text_append_bytes(text, string, size);
	}
	return size;
}

void json_append_string_bytes(struct text *text, const char *string, size_t length)
{
	text_append_char(text, '"');
	while (length) {
		size_t size = 0;

		while (size < length && json_is_plain((u8)string[size]))
			size++;
		if (size)
			text_append_bytes(text, string, size);
		else
			size = json_append_special(text, string, length);
		string += size;
		length -= size;
	}
	text_append_char(text, '"');
}

void json_append_string(struct text *text, const char *string)
{
	json_append_string_bytes(text, string, strlen(string));
}

#define JSON_U64_DIGITS 20

/* Writes the digits so that they end before end; gives where they begin. */
static char *json_digits(char *end, u64 value)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return end;
}

void json_append_u64(struct text *text, u64 value)
{
	char buffer[JSON_U64_DIGITS], *end = buffer + sizeof(buffer);
	char *digits = json_digits(end, value);

	text_append_bytes(text, digits, (size_t)(end - digits));
}

void json_append_hex(struct text *text, u64 value)
{
	char buffer[2 + 16 + 2], *end = buffer + sizeof(buffer), *digits = end;

	*--digits = '"';
	do {
		*--digits = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	*--digits = 'x';
	*--digits = '0';
	*--digits = '"';
	text_append_bytes(text, digits, (size_t)(end - digits));
}

void json_append_number(struct text *text, u64 value)
{
	if (value <= INT64_MAX)
		json_append_u64(text, value);
	else
		json_append_hex(text, value);
}

void json_append_signed(struct text *text, s64 value)
{
	if (value < 0)
		text_append_char(text, '-');
	json_append_u64(text, value < 0 ? 0 - (u64)value : (u64)value);
}

void json_append_hex_array(struct text *text, const u64 *values, size_t count)
{
	text_append_char(text, '[');
	for (size_t i = 0; i < count; i++) {
		if (i)
			text_append_char(text, ',');
		json_append_hex(text, values[i]);
	}
	text_append_char(text, ']');
}

void json_append_us(struct text *text, u64 ns)
{
	char buffer[JSON_U64_DIGITS + 1], *end = buffer + sizeof(buffer), *digits = end;
	u64 fraction = ns % NS_PER_MICROSECOND;

	for (int i = 0; i < 3; i++, fraction /= 10)
		*--digits = (char)('0' + fraction % 10);
	*--digits = '.';
	digits = json_digits(digits, ns / NS_PER_MICROSECOND);
	text_append_bytes(text, digits, (size_t)(end - digits));
}
