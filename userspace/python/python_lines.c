/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "python/python_lines.h"

/* How the place of a stretch of instructions is written; below, the line is the one before and a byte tells of columns. */
enum place {
	PLACE_ONE_LINE = 10, /* to 12: so many lines more than this, and two bytes of columns */
	PLACE_NO_COLUMNS = 13,
	PLACE_LONG = 14,
	PLACE_NONE = 15,
};

struct reader {
	const u8 *at, *end;
};

static u8 read_byte(struct reader *reader)
{
	return reader->at < reader->end ? *reader->at++ : 0;
}

/* Six bits a byte, the lowest first. */
static u64 read_number(struct reader *reader)
{
	u64 number = 0;
	u8 byte = 0x40;

	for (u32 shift = 0; byte & 0x40 && shift < 60; shift += 6) {
		byte = read_byte(reader);
		number |= (u64)(byte & 0x3f) << shift;
	}
	return number;
}

static s64 read_signed(struct reader *reader)
{
	u64 number = read_number(reader);

	return number & 1 ? -(s64)(number >> 1) : (s64)(number >> 1);
}

/* By how much the line of an entry is above that of the one before; moves behind the entry. */
static s64 read_delta(struct reader *reader, u32 place)
{
	s64 delta = 0;

	switch (place) {
	case PLACE_NONE:
		break;
	case PLACE_LONG:
		delta = read_signed(reader);
		read_number(reader);
		read_number(reader);
		read_number(reader);
		break;
	case PLACE_NO_COLUMNS:
		delta = read_signed(reader);
		break;
	case PLACE_ONE_LINE:
	case PLACE_ONE_LINE + 1:
	case PLACE_ONE_LINE + 2:
		delta = place - PLACE_ONE_LINE;
		read_byte(reader);
		read_byte(reader);
		break;
	default:
		read_byte(reader);
	}
	return delta;
}

static u32 line_or_none(s64 line)
{
	return line <= 0 || line > INT32_MAX ? 0 : (u32)line;
}

#define NO_LINE (-128)

/* Pairs: so many bytes of instructions, and by how much their line is above the last one. */
static u32 line_by_ranges(const u8 *table, size_t bytes, s64 line, u64 at)
{
	u64 end = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		signed char delta = (signed char)table[i + 1];

		end += table[i];
		line += delta == NO_LINE ? 0 : delta;
		if (at < end)
			return delta == NO_LINE ? 0 : line_or_none(line);
	}
	return 0;
}

/* Pairs: so many bytes further the line is so much above the last one, up to the next pair. */
static u32 line_by_steps(const u8 *table, size_t bytes, s64 line, u64 at)
{
	u64 begin = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		begin += table[i];
		if (begin > at)
			break;
		line += (signed char)table[i + 1];
	}
	return line_or_none(line);
}

static u32 line_by_places(const u8 *table, size_t bytes, s32 first_line, u32 unit)
{
	struct reader reader = {table, table + bytes};
	s64 line = first_line;
	u64 end = 0;

	while (reader.at < reader.end) {
		u8 first = read_byte(&reader);
		u32 place = first >> 3 & 15;

		if (!(first & 0x80))
			return 0;
		line += read_delta(&reader, place);
		end += (first & 7) + 1;
		if (unit < end)
			return place == PLACE_NONE ? 0 : line_or_none(line);
	}
	return 0;
}

u32 python_line_of(enum python_lines form, const u8 *table, size_t bytes, s32 first_line, u32 unit)
{
	switch (form) {
	case PYTHON_LINES_RANGES:
		return line_by_ranges(table, bytes, first_line, 2ULL * unit);
	case PYTHON_LINES_STEPS:
		return line_by_steps(table, bytes, first_line, 2ULL * unit);
	default:
		return line_by_places(table, bytes, first_line, unit);
	}
}
