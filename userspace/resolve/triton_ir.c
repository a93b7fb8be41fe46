/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MLIR as text. Of interest is
 *	  tt.func public @NAME(...) ... {
 *	  } loc(LOCATION)
 * where LOCATION is "FILE":LINE:COLUMN, "NAME"(LOCATION), fused[LOCATION, ...] or #locN, a line of its own: #locN = loc(LOCATION).
 */
#include "resolve/triton_ir.h"

#include <ctype.h>
#include <string.h>

#define LOCATIONS_DEEP_MAX 16
#define LINE_MAX_NUMBER	   10000000
#define FUNCTION	   "tt.func public @"

struct reader {
	const char *at, *end;
};

static bool take(struct reader *reader, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length))
		return false;
	reader->at += length;
	return true;
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : -1;
}

/* What stands behind a backslash: itself, or two digits. */
static char take_escaped(struct reader *reader)
{
	int high = reader->end - reader->at >= 2 ? hex_digit(reader->at[0]) : -1;
	int low = high >= 0 ? hex_digit(reader->at[1]) : -1;
	char c = *reader->at;

	if (low < 0) {
		reader->at++;
		return c == 'n' ? '\n' : c == 't' ? '\t' : c;
	}
	reader->at += 2;
	return (char)(high << 4 | low);
}

/* "...": false where it does not end, is too long, or has a NUL. */
static bool take_string(struct reader *reader, char *ret_string, size_t max_bytes)
{
	size_t length = 0;

	if (!take(reader, "\""))
		return false;
	while (reader->at < reader->end && *reader->at != '"') {
		char c = *reader->at++;

		if (c == '\\' && reader->at < reader->end)
			c = take_escaped(reader);
		if (!c || c == '\n' || length + 1 >= max_bytes)
			return false;
		ret_string[length++] = c;
	}
	ret_string[length] = '\0';
	return take(reader, "\"");
}

static bool take_number(struct reader *reader, u32 *ret_number)
{
	const char *begin = reader->at;
	u32 number = 0;

	while (reader->at < reader->end && isdigit((unsigned char)*reader->at) &&
	       number < LINE_MAX_NUMBER)
		number = number * 10 + (u32)(*reader->at++ - '0');
	*ret_number = number;
	return reader->at > begin && number && number < LINE_MAX_NUMBER;
}

/* The line that says what #locN is. */
static bool find_alias(const struct reader *text, const char *alias, size_t length,
		       struct reader *ret_location)
{
	struct reader line = *text;

	while (line.at < line.end) {
		struct reader at = line;
		const char *next = memchr(line.at, '\n', line.end - line.at);

		if ((size_t)(at.end - at.at) > length && !memcmp(at.at, alias, length)) {
			at.at += length;
			if (take(&at, " = loc(")) {
				*ret_location = at;
				return true;
			}
		}
		if (!next)
			return false;
		line.at = next + 1;
	}
	return false;
}

static bool follow_alias(const struct reader *text, struct reader *location)
{
	const char *begin = location->at;
	size_t length = 1;

	while (begin + length < location->end &&
	       (isalnum((unsigned char)begin[length]) || begin[length] == '_'))
		length++;
	return find_alias(text, begin, length, location);
}

/* To the first one of several. */
static bool follow_fused(struct reader *location)
{
	const char *bracket = memchr(location->at, '[', location->end - location->at);
	const char *line = memchr(location->at, '\n', location->end - location->at);

	if (!bracket || (line && line < bracket))
		return false;
	location->at = bracket + 1;
	return true;
}

static bool read_location(const struct reader *text, struct reader location,
			  struct triton_kernel *kernel)
{
	for (int deep = 0; deep < LOCATIONS_DEEP_MAX && location.at < location.end; deep++) {
		if (*location.at == '#') {
			if (!follow_alias(text, &location))
				return false;
		} else if (*location.at == '"') {
			if (!take_string(&location, kernel->file, sizeof(kernel->file)))
				return false;
			if (take(&location, ":"))
				return take_number(&location, &kernel->line) && kernel->file[0];
			if (!take(&location, "("))
				return false;
		} else if (!take(&location, "fused") || !follow_fused(&location)) {
			return false;
		}
	}
	return false;
}

static bool read_name(struct reader *reader, struct triton_kernel *kernel)
{
	size_t length = 0;

	if (reader->at < reader->end && *reader->at == '"')
		return take_string(reader, kernel->name, sizeof(kernel->name));
	while (reader->at < reader->end &&
	       (isalnum((unsigned char)*reader->at) || strchr("_$.-", *reader->at)) &&
	       *reader->at && length + 1 < sizeof(kernel->name))
		kernel->name[length++] = *reader->at++;
	kernel->name[length] = '\0';
	return length && reader->at < reader->end && *reader->at == '(';
}

/* Where it ends: the first line with its indentation that closes it. */
static bool find_end(struct reader line, size_t indentation, struct reader *ret_location)
{
	while ((line.at = memchr(line.at, '\n', line.end - line.at))) {
		struct reader at;
		size_t blanks = 0;

		line.at++;
		at = line;
		while (blanks < indentation && take(&at, " "))
			blanks++;
		if (blanks == indentation && take(&at, "} loc(")) {
			*ret_location = at;
			return true;
		}
	}
	return false;
}

bool triton_ir_read(const char *bytes, size_t size, struct triton_kernel *ret_kernel)
{
	const struct reader text = {bytes, bytes + size};
	const char *function = memmem(bytes, size, FUNCTION, strlen(FUNCTION));
	struct reader reader = {function, text.end}, location;
	size_t indentation = 0;

	if (!function)
		return false;
	while (function - indentation > bytes && function[-1 - (ptrdiff_t)indentation] == ' ')
		indentation++;
	if (function - indentation > bytes && function[-1 - (ptrdiff_t)indentation] != '\n')
		return false;
	*ret_kernel = (struct triton_kernel){0};
	return take(&reader, FUNCTION) && read_name(&reader, ret_kernel) &&
	       find_end(reader, indentation, &location) &&
	       read_location(&text, location, ret_kernel);
}
