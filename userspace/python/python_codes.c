/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "python/python_codes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "python/python_lines.h"

#define BYTES_MAX (256ULL << 20) /* a target can make as many as it wants */

static u32 character_at(const u8 *bytes, u32 width)
{
	u32 character = 0;

	memcpy(&character, bytes, width);
	return character;
}

/* What is none becomes U+FFFD. Control characters are the outputs' to escape; a NUL would end the text. */
static void append_character(struct text *text, u32 character)
{
	if (!character || (character >= 0xd800 && character < 0xe000) || character > 0x10ffff)
		character = 0xfffd;
	if (character < 0x80) {
		text_append_char(text, (char)character);
		return;
	}
	if (character < 0x800) {
		text_append_char(text, (char)(0xc0 | character >> 6));
	} else {
		if (character < 0x10000) {
			text_append_char(text, (char)(0xe0 | character >> 12));
		} else {
			text_append_char(text, (char)(0xf0 | character >> 18));
			text_append_char(text, (char)(0x80 | (character >> 12 & 0x3f)));
		}
		text_append_char(text, (char)(0x80 | (character >> 6 & 0x3f)));
	}
	text_append_char(text, (char)(0x80 | (character & 0x3f)));
}

/* NULL: out of memory. */
static char *make_text(const struct python_text *text, const u8 *bytes, size_t max_bytes)
{
	u32 width = text->width ? text->width : 1;
	size_t size = text->bytes < max_bytes ? text->bytes : max_bytes;
	struct text result = {0};

	for (size_t i = 0; width <= 4 && i + width <= size; i += width)
		append_character(&result, character_at(bytes + i, width));
	text_append(&result, "");
	if (result.failed) {
		text_free(&result);
		return NULL;
	}
	return result.data ? result.data : strdup("");
}

static void free_item(struct python_code_item *item)
{
	free(item->name);
	free(item->file);
	free(item->lines);
}

void python_codes_add(struct python_codes *codes, const struct python_code *code, size_t size_bytes)
{
	struct python_code_item item = {.first_line = code->first_line,
					.lines_form = code->lines_form,
					.lines_bytes = code->lines_bytes};

	if (size_bytes < offsetof(struct python_code, lines) ||
	    code->lines_bytes > size_bytes - offsetof(struct python_code, lines) ||
	    codes->bytes > BYTES_MAX)
		return;
	item.name = make_text(&code->name, code->name_bytes, sizeof(code->name_bytes));
	item.file = make_text(&code->file, code->file_bytes, sizeof(code->file_bytes));
	item.lines = malloc(code->lines_bytes + 1);
	if (!item.name || !item.file || !item.lines ||
	    array_reserve(&codes->items, &codes->capacity, codes->count + 1) ||
	    map_set(&codes->by_id, code->id, 0, codes->count)) {
		free_item(&item);
		return;
	}
	memcpy(item.lines, code->lines, code->lines_bytes);
	codes->items[codes->count++] = item;
	codes->bytes += sizeof(item) + strlen(item.name) + strlen(item.file) + code->lines_bytes;
}

struct python_place python_codes_find(const struct python_codes *codes, u64 address)
{
	u32 instruction = PYTHON_INSTRUCTION_OF(address);
	const u64 *found = map_find(&codes->by_id, PYTHON_CODE_OF(address), 0);
	struct python_place place = {.name = PYTHON_NOT_READABLE, .file = ""};
	const struct python_code_item *item;

	if (!found)
		return place;
	item = &codes->items[*found];
	place = (struct python_place){.name = item->name, .file = item->file};
	if (item->first_line > 0)
		place.function_line = (u32)item->first_line;
	if (instruction)
		place.line = python_line_of(item->lines_form, item->lines, item->lines_bytes,
					    item->first_line, instruction - 1);
	else
		place.line = place.function_line;
	return place;
}

void python_codes_free(struct python_codes *codes)
{
	for (size_t i = 0; i < codes->count; i++)
		free_item(&codes->items[i]);
	free(codes->items);
	map_free(&codes->by_id);
	*codes = (struct python_codes){0};
}
