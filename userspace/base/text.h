/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing string, always NUL-terminated. Zero-initialise it; out of memory makes it "failed": further
 * appends do nothing, and .failed says so at the end, so that callers check once.
 */
#ifndef GPUPROBE_BASE_TEXT_H
#define GPUPROBE_BASE_TEXT_H

#include <stdarg.h>
#include <string.h>

#include "base/types.h"

struct text {
	char *data; /* never NULL after the first append that worked */
	size_t length;
	size_t capacity;
	bool failed;
};

/* text_append_bytes() where the string has to grow first. */
void text_append_growing(struct text *text, const void *bytes, size_t length);

/* Inline: outputs are made of hundreds of millions of short pieces, most of a length that the compiler
 * knows. */
static inline void text_append_bytes(struct text *text, const void *bytes, size_t length)
{
	if (text->failed || !length || length > PTRDIFF_MAX ||
	    length >= text->capacity - text->length) {
		text_append_growing(text, bytes, length);
		return;
	}
	memcpy(text->data + text->length, bytes, length);
	text->length += length;
	text->data[text->length] = '\0';
}

/* Makes room where there is none. */
bool text_reserve(struct text *text, size_t length);

/* The place behind the end, with room for so many bytes, for who says with text_use() how many there are then. NULL: no memory, it failed. */
static inline char *text_room(struct text *text, size_t length)
{
	if (length >= text->capacity - text->length && !text_reserve(text, length))
		return NULL;
	return text->data + text->length;
}

static inline void text_use(struct text *text, size_t length)
{
	text->length += length;
	text->data[text->length] = '\0';
}

static inline void text_append(struct text *text, const char *string)
{
	text_append_bytes(text, string, strlen(string));
}

static inline void text_append_char(struct text *text, char c)
{
	text_append_bytes(text, &c, 1);
}

void text_appendf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_appendv(struct text *text, const char *format, va_list arguments);
/* Shortens to nothing and keeps the memory; what failed stays failed. */
void text_clear(struct text *text);
void text_free(struct text *text);
#define _cleanup_text_ __attribute__((cleanup(text_free)))

/* The string, "" while empty. */
const char *text_string(const struct text *text);

/* Appends bytes for a terminal: printable UTF-8 as it is, everything else (control characters, escape
 * sequences, broken UTF-8) as \xNN. Names come from the target and are untrusted. */
void text_append_terminal(struct text *text, const char *string, size_t length);
/* The string, or a copy in scratch with '?' for each byte that is no UTF-8: for formats whose readers take no other. */
const char *text_utf8(const char *string, struct text *scratch);
/* The number of columns that a UTF-8 string takes, about: code points. */
size_t text_columns(const char *string);
/* The byte behind so many columns of it, or its end. */
size_t text_skip_columns(const char *string, size_t columns);
/* Words as lines of so many columns at most, ended between two of them where that can be: `first` stands in front of the first line, `others`
 * in front of the others. Of no words there is no line. How many lines there are. */
size_t text_append_wrapped(struct text *text, const char *first, const char *others, size_t columns, const char *words);
/* Number of edits between two strings, for "did you mean"; stops counting at limit. */
unsigned text_distance(const char *a, const char *b, unsigned limit);

#endif
