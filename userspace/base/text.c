/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define TEXT_MINIMUM_CAPACITY 64

/* Room for length more bytes and the NUL. */
bool text_reserve(struct text *text, size_t length)
{
	size_t capacity = text->capacity ? text->capacity : TEXT_MINIMUM_CAPACITY;
	size_t needed;
	char *data;

	if (text->failed || __builtin_add_overflow(text->length, length, &needed) ||
	    needed >= SIZE_MAX / 2) {
		text->failed = true;
		return false;
	}
	if (text->data && needed < text->capacity)
		return true;
	while (capacity <= needed)
		capacity *= 2;
	data = realloc(text->data, capacity);
	if (!data) {
		text->failed = true;
		return false;
	}
	text->data = data;
	text->capacity = capacity;
	return true;
}

void text_append_growing(struct text *text, const void *bytes, size_t length)
{
	if (!text_reserve(text, length))
		return;
	if (length)
		memcpy(text->data + text->length, bytes, length);
	text->length += length;
	text->data[text->length] = '\0';
}

void text_appendv(struct text *text, const char *format, va_list arguments)
{
	va_list again;
	int length;

	if (!text_reserve(text, 0))
		return;
	va_copy(again, arguments);
	length = vsnprintf(text->data + text->length, text->capacity - text->length, format,
			   arguments);
	if (length < 0) {
		text->data[text->length] = '\0';
		text->failed = true;
	} else if ((size_t)length >= text->capacity - text->length) {
		text->data[text->length] = '\0';
		if (text_reserve(text, (size_t)length))
			vsnprintf(text->data + text->length, text->capacity - text->length, format,
				  again);
	}
	if (!text->failed)
		text->length += (size_t)length;
	va_end(again);
}

void text_appendf(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text_appendv(text, format, arguments);
	va_end(arguments);
}

void text_clear(struct text *text)
{
	text->length = 0;
	if (text->data)
		text->data[0] = '\0';
}

void text_free(struct text *text)
{
	free(text->data);
	memset(text, 0, sizeof(*text));
}

const char *text_string(const struct text *text)
{
	return text->data ? text->data : "";
}

/* Code points that move the cursor, hide or reorder what stands around them. */
static const struct {
	u32 first;
	u32 last;
} text_unprintable[] = {
	{0x0000, 0x001f}, {0x007f, 0x009f}, {0x00ad, 0x00ad}, {0x061c, 0x061c},	  {0x200b, 0x200f},
	{0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe007f},
};

static bool text_is_printable(u32 code_point)
{
	for (size_t i = 0; i < ARRAY_SIZE(text_unprintable); i++)
		if (code_point >= text_unprintable[i].first &&
		    code_point <= text_unprintable[i].last)
			return false;
	return true;
}

/* How many bytes of ASCII stand first that are printable as they are. */
static size_t plain_length(const char *string, size_t length)
{
	size_t plain = 0;

	while (plain < length && string[plain] >= ' ' && string[plain] <= '~')
		plain++;
	return plain;
}

void text_append_terminal(struct text *text, const char *string, size_t length)
{
	while (length) {
		size_t size, plain = plain_length(string, length);
		u32 code_point = 0;

		text_append_bytes(text, string, plain);
		string += plain;
		length -= plain;
		if (!length)
			break;
		size = utf8_decode(string, length, &code_point);
		if (size && text_is_printable(code_point)) {
			text_append_bytes(text, string, size);
		} else {
			size = size ? size : 1;
			for (size_t i = 0; i < size; i++)
				text_appendf(text, "\\x%02x", (u8)string[i]);
		}
		string += size;
		length -= size;
	}
}

const char *text_utf8(const char *string, struct text *scratch)
{
	size_t length = strlen(string), at = 0;
	u32 code_point;

	while (at < length && (u8)string[at] < 0x80)
		at++;
	if (at == length)
		return string;
	text_clear(scratch);
	for (at = 0; at < length;) {
		size_t bytes = utf8_decode(string + at, length - at, &code_point);

		if (bytes)
			text_append_bytes(scratch, string + at, bytes);
		else
			text_append_char(scratch, '?');
		at += bytes ? bytes : 1;
	}
	return text_string(scratch);
}

size_t text_columns(const char *string)
{
	size_t columns = 0;

	for (; *string; string++)
		columns += ((u8)*string & 0xc0) != 0x80;
	return columns;
}

size_t text_skip_columns(const char *string, size_t columns)
{
	size_t bytes = 0;

	while (columns-- && string[bytes])
		do
			bytes++;
		while (((u8)string[bytes] & 0xc0) == 0x80);
	return bytes;
}

/* How many bytes of the words go on a line of so many columns: one character at least. */
static size_t text_line_length(const char *words, size_t columns)
{
	size_t whole = text_skip_columns(words, columns), length = whole;

	if (!words[whole])
		return whole;
	while (length && words[length] != ' ')
		length--;
	return length ? length : whole;
}

size_t text_append_wrapped(struct text *text, const char *first, const char *others, size_t columns,
			   const char *words)
{
	const char *indent = first;
	size_t count = 0;

	for (; *words; count++) {
		size_t indent_columns = text_columns(indent);
		size_t length = text_line_length(
			words, columns > indent_columns ? columns - indent_columns : 1);

		text_append(text, indent);
		text_append_bytes(text, words, length);
		text_append_char(text, '\n');
		words += length;
		words += strspn(words, " ");
		indent = others;
	}
	return count;
}

static unsigned text_minimum(unsigned a, unsigned b, unsigned c)
{
	unsigned minimum = a < b ? a : b;

	return minimum < c ? minimum : c;
}

/* One row of the edit distance table: row[j] holds the distance from i-1 characters of a on entry,
 * and from i on return. Gives the smallest of the row. */
static unsigned text_distance_row(unsigned *row, char c, const char *b, size_t length_b)
{
	unsigned diagonal = row[0], smallest = ++row[0];

	for (size_t j = 1; j <= length_b; j++) {
		unsigned above = row[j];

		row[j] = text_minimum(above + 1, row[j - 1] + 1, diagonal + (b[j - 1] != c));
		diagonal = above;
		smallest = row[j] < smallest ? row[j] : smallest;
	}
	return smallest;
}

unsigned text_distance(const char *a, const char *b, unsigned limit)
{
	size_t length_a, length_b, difference;
	unsigned *row, distance;

	for (; *a && *a == *b; a++)
		b++;
	length_a = strlen(a);
	length_b = strlen(b);
	for (; length_a && length_b && a[length_a - 1] == b[length_b - 1]; length_a--)
		length_b--;
	difference = length_a > length_b ? length_a - length_b : length_b - length_a;
	if (difference >= limit)
		return limit;
	row = calloc(length_b + 1, sizeof(*row));
	if (!row)
		return limit;
	for (size_t j = 0; j <= length_b; j++)
		row[j] = (unsigned)j;
	distance = row[length_b];
	for (size_t i = 0; i < length_a; i++) {
		if (text_distance_row(row, a[i], b, length_b) >= limit) {
			distance = limit;
			break;
		}
		distance = row[length_b];
	}
	free(row);
	return distance < limit ? distance : limit;
}
