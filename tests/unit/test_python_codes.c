/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code objects of Python: their texts in all ways in which they are kept, and lines by tables, damaged ones too. */
#include "unit.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/types.h"
#include "python/python_codes.h"
#include "python/python_lines.h"

#define ENTRY(place, units) (0x80 | (place) << 3 | ((units)-1))

TEST(lines_are_those_of_the_entries)
{
	/* In units: 1 of line 10, 2 of line 11 with columns, 3 without a line, 4 of line 10, 5 of line 200, 6 of it in the short form. */
	static const u8 table[] = {
		ENTRY(13, 1), 0,		   /* + 0 */
		ENTRY(11, 2), 4,    8,		   /* + 1 */
		ENTRY(15, 3),			   /* none */
		ENTRY(13, 4), 3,		   /* - 1 */
		ENTRY(14, 5), 0x7c, 0x05, 0, 5, 9, /* + 190: (190 << 1) in groups of 6 bits */
		ENTRY(2, 6),  0x21,
	};
	static const u32 lines[] = {10,	 11,  11,  0,	0,   0,	  10,  10,  10,	 10,  200,
				    200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 0};

	for (u32 unit = 0; unit < ARRAY_SIZE(lines); unit++)
		if (python_line_of(PYTHON_LINES_PLACES, table, sizeof(table), 10, unit) !=
		    lines[unit])
			UNIT_FAIL(
				"unit %u: line %u, expected %u", unit,
				python_line_of(PYTHON_LINES_PLACES, table, sizeof(table), 10, unit),
				lines[unit]);
	/* Cut: what is there counts. */
	CHECK_U64(python_line_of(PYTHON_LINES_PLACES, table, 5, 10, 2), 11);
	CHECK_U64(python_line_of(PYTHON_LINES_PLACES, table, 5, 10, 3), 0);
}

TEST(lines_of_older_tables)
{
	/* Bytes of instructions: 4 of line 10, 2 without a line, 6 of line 12, 2 of line 11. */
	static const u8 ranges[] = {4, 0, 2, 0x80, 6, 2, 2, 0xff};
	static const u32 by_ranges[] = {10, 10, 0, 12, 12, 12, 11, 0};
	/* Line 10 for 4 bytes, line 142 (127 + 5) for 6, line 141 from there on. */
	static const u8 steps[] = {4, 127, 0, 5, 6, 0xff};
	static const u32 by_steps[] = {10, 10, 142, 142, 142, 141, 141};

	for (u32 unit = 0; unit < ARRAY_SIZE(by_ranges); unit++)
		CHECK_U64(python_line_of(PYTHON_LINES_RANGES, ranges, sizeof(ranges), 10, unit),
			  by_ranges[unit]);
	for (u32 unit = 0; unit < ARRAY_SIZE(by_steps); unit++)
		CHECK_U64(python_line_of(PYTHON_LINES_STEPS, steps, sizeof(steps), 10, unit),
			  by_steps[unit]);
	CHECK_U64(python_line_of(PYTHON_LINES_RANGES, ranges, 3, 10, 2), 0);
	CHECK_U64(python_line_of(PYTHON_LINES_STEPS, steps, 1, 10, 9), 10);
}

TEST(damaged_tables_end)
{
	u64 state = 88172645463325252ULL;

	for (int i = 0; i < 100000; i++) {
		/* Of a size of its own, so that the sanitizer sees what is read behind it. */
		size_t size = (size_t)i % 60;
		u8 *table = malloc(size + 1);

		for (size_t n = 0; n < size; n++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			table[n] = (u8)(state >> 24 | (state & 3 ? 0x80 : 0));
		}
		table = realloc(table, size ? size : 1);
		python_line_of((u32)i / 7 % 3, table, size, (s32)state, (u32)(state >> 40) % 300);
		free(table);
	}
}

static void add(struct python_codes *codes, u32 id, u8 width, const void *name, size_t bytes)
{
	static const u8 table[] = {ENTRY(13, 4), 0, ENTRY(13, 4), 2};
	struct python_code code = {.id = id,
				   .first_line = 7,
				   .lines_bytes = sizeof(table),
				   .name = {.bytes = (u16)bytes, .width = width},
				   .file = {.bytes = 6, .width = 0}};

	memcpy(code.name_bytes, name, bytes < 100 ? bytes : 1);
	memcpy(code.file_bytes, "a/b.py", 6);
	memcpy(code.lines, table, sizeof(table));
	python_codes_add(codes, &code, sizeof(code));
}

TEST(texts_become_utf8)
{
	static const u8 latin[] = {'g', 'r', 0xf6, 0xdf, 'e'};
	static const u16 two[] = {0x4e2d, 0x6587, 0xd800, 'x'};
	static const u32 four[] = {0x1f600, 0, 0x110000};
	struct python_codes codes = {0};

	add(&codes, 1, 0, "Worker.run", 10);
	add(&codes, 2, 1, latin, sizeof(latin));
	add(&codes, 3, 2, two, sizeof(two));
	add(&codes, 4, 4, four, sizeof(four));
	add(&codes, 5, 0, "x", 65535);
	add(&codes, 6, 9, "x", 1);
	CHECK_STRING(python_codes_find(&codes, PYTHON_FRAME_OF(1, 1)).name, "Worker.run");
	CHECK_STRING(python_codes_find(&codes, PYTHON_FRAME_OF(1, 1)).file, "a/b.py");
	CHECK_STRING(python_codes_find(&codes, PYTHON_FRAME_OF(2, 1)).name, "grö\xc3\x9f"
									    "e");
	CHECK_STRING(python_codes_find(&codes, PYTHON_FRAME_OF(3, 1)).name, "中文\xef\xbf\xbdx");
	CHECK_STRING(python_codes_find(&codes, PYTHON_FRAME_OF(4, 1)).name,
		     "😀\xef\xbf\xbd\xef\xbf\xbd");
	CHECK_STRING(python_codes_find(&codes, PYTHON_FRAME_OF(6, 1)).name, "");
	python_codes_free(&codes);
}

TEST(frames_have_lines)
{
	struct python_codes codes = {0};

	add(&codes, 3000000000U, 0, "f", 1);
	CHECK_U64(python_codes_find(&codes, PYTHON_FRAME_OF(3000000000U, 0)).line, 7);
	CHECK_U64(python_codes_find(&codes, PYTHON_FRAME_OF(3000000000U, 4)).line, 7);
	CHECK_U64(python_codes_find(&codes, PYTHON_FRAME_OF(3000000000U, 5)).line, 8);
	CHECK_U64(python_codes_find(&codes, PYTHON_FRAME_OF(3000000000U, 900)).line, 0);
	CHECK(PYTHON_IS_FRAME(PYTHON_FRAME_OF(3000000000U, PYTHON_INSTRUCTION_MAX)));
	CHECK(!PYTHON_IS_FRAME(0xffffffff81000000ULL));
	CHECK(!PYTHON_IS_FRAME(0xff00000000000000ULL));
	CHECK_STRING(python_codes_find(&codes, PYTHON_FRAME_OF(5, 1)).name, PYTHON_NOT_READABLE);
	CHECK_STRING(python_codes_find(&codes, PYTHON_UNREADABLE).name, PYTHON_NOT_READABLE);
	python_codes_free(&codes);
}

TEST(what_is_shorter_than_it_says_is_left_out)
{
	struct python_codes codes = {0};
	struct python_code code = {.id = 1, .lines_bytes = 100};

	python_codes_add(&codes, &code, offsetof(struct python_code, lines) + 99);
	python_codes_add(&codes, &code, 8);
	CHECK_U64(codes.count, 0);
	python_codes_free(&codes);
}

UNIT_MAIN()
