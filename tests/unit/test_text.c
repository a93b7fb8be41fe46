/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "base/err.h"
#include "base/text.h"
#include "base/utf8.h"

TEST(empty_text_is_an_empty_string)
{
	_cleanup_text_ struct text text = {};

	CHECK_STRING(text_string(&text), "");
	text_clear(&text);
	text_append(&text, "");
	CHECK_STRING(text_string(&text), "");
	CHECK(text.data != NULL);
}

TEST(appends_grow_and_stay_terminated)
{
	_cleanup_text_ struct text text = {};

	for (int i = 0; i < 1000; i++) {
		text_append_char(&text, (char)('a' + i % 26));
		CHECK_U64(strlen(text.data), i + 1);
	}
	text_appendf(&text, "%s=%d", "answer", 42);
	CHECK_STRING(text.data + 1000, "answer=42");
	text_clear(&text);
	CHECK_STRING(text_string(&text), "");
	CHECK(text.capacity > 1000);
}

TEST(formatted_text_of_every_length_around_the_capacity)
{
	for (int length = 0; length < 300; length++) {
		_cleanup_text_ struct text text = {};

		text_append(&text, "x");
		text_appendf(&text, "%*s|", length, "");
		CHECK_U64(text.length, length + 2);
		CHECK(text.data[length + 1] == '|');
	}
}

TEST(bytes_may_hold_nul)
{
	_cleanup_text_ struct text text = {};

	text_append_bytes(&text, "a\0b", 3);
	CHECK_U64(text.length, 3);
	CHECK(!memcmp(text.data, "a\0b", 4));
}

TEST(impossible_size_fails_and_stays_failed)
{
	_cleanup_text_ struct text text = {};

	text_append(&text, "kept");
	text_append_bytes(&text, "", SIZE_MAX - 2);
	CHECK(text.failed);
	text_append(&text, "dropped");
	CHECK_STRING(text_string(&text), "kept");
	text_clear(&text);
	CHECK(text.failed);
}

static void check_terminal(const char *bytes, size_t length, const char *expected)
{
	_cleanup_text_ struct text text = {};

	text_append_terminal(&text, bytes, length);
	CHECK_STRING(text_string(&text), expected);
}

#define CHECK_TERMINAL(literal, expected) check_terminal(literal, sizeof(literal) - 1, expected)

TEST(terminal_sees_no_control_characters)
{
	CHECK_TERMINAL("plain", "plain");
	CHECK_TERMINAL("gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80",
		       "gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2 \xf0\x9f\x98\x80");
	CHECK_TERMINAL("a\x1b[31mred\n\t\r", "a\\x1b[31mred\\x0a\\x09\\x0d");
	CHECK_TERMINAL("nul\0del\x7f", "nul\\x00del\\x7f");
	CHECK_TERMINAL("c1 csi \xc2\x9b"
		       "31m",
		       "c1 csi \\xc2\\x9b31m");
	CHECK_TERMINAL("bidi \xe2\x80\xae"
		       "evil",
		       "bidi \\xe2\\x80\\xae"
		       "evil");
}

TEST(terminal_sees_broken_utf8_as_bytes)
{
	CHECK_TERMINAL("\xff\xfe", "\\xff\\xfe");
	CHECK_TERMINAL("cut \xe6\xbc", "cut \\xe6\\xbc");
	CHECK_TERMINAL("overlong \xc0\xaf", "overlong \\xc0\\xaf");
	CHECK_TERMINAL("\xc3(", "\\xc3(");
}

TEST(utf8_refuses_what_is_not_strict)
{
	u32 c = 0;

	CHECK_U64(utf8_decode("", 0, &c), 0);
	CHECK_U64(utf8_decode("\xf4\x8f\xbf\xbf", 4, &c), 4);
	CHECK_U64(c, 0x10ffff);
	CHECK_U64(utf8_decode("\xf4\x90\x80\x80", 4, &c), 0);
	CHECK_U64(utf8_decode("\xed\xa0\x80", 3, &c), 0);
	CHECK_U64(utf8_decode("\xed\x9f\xbf", 3, &c), 3);
	CHECK_U64(utf8_decode("\xe0\x80\xaf", 3, &c), 0);
	CHECK_U64(utf8_decode("\xf0\x80\x80\xaf", 4, &c), 0);
	CHECK_U64(utf8_decode("\xf8\x88\x80\x80\x80", 5, &c), 0);
	CHECK_U64(utf8_decode("\x80", 1, &c), 0);
	CHECK_U64(utf8_decode("\xe2\x82\xac", 2, &c), 0);
	CHECK_U64(utf8_decode("\xe2\x82\xac", 3, &c), 3);
	CHECK_U64(c, 0x20ac);
}

TEST(columns_are_code_points)
{
	CHECK_U64(text_columns(""), 0);
	CHECK_U64(text_columns("abc"), 3);
	CHECK_U64(text_columns("gr\xc3\xbc\xc3\x9f"), 4);
	CHECK_U64(text_skip_columns("gr\xc3\xbc\xc3\x9f", 0), 0);
	CHECK_U64(text_skip_columns("gr\xc3\xbc\xc3\x9f", 3), 4);
	CHECK_U64(text_skip_columns("gr\xc3\xbc\xc3\x9f", 4), 6);
	CHECK_U64(text_skip_columns("gr\xc3\xbc\xc3\x9f", 9), 6);
}

TEST(distance_counts_edits_up_to_the_limit)
{
	CHECK_U64(text_distance("", "", 5), 0);
	CHECK_U64(text_distance("same", "same", 5), 0);
	CHECK_U64(text_distance("kitten", "sitting", 10), 3);
	CHECK_U64(text_distance("sitting", "kitten", 10), 3);
	CHECK_U64(text_distance("kitten", "sitting", 3), 3);
	CHECK_U64(text_distance("kitten", "sitting", 2), 2);
	CHECK_U64(text_distance("", "abc", 10), 3);
	CHECK_U64(text_distance("abc", "", 10), 3);
	CHECK_U64(text_distance("setCommand", "setComand", 5), 1);
	CHECK_U64(text_distance("flaw", "lawn", 5), 2);
	CHECK_U64(text_distance("aaaa", "aaaaaaaaaaaa", 4), 4);
	CHECK_U64(text_distance("x", "y", 0), 0);
}

TEST(errors_keep_their_words)
{
	struct err err = {};

	CHECK(err_set(&err, -5, "%s on %d", "what", 7) == -5);
	CHECK_STRING(err.message, "what on 7");
	CHECK(err_prefix(&err, "can't %s", "attach") == -5);
	CHECK_STRING(err.message, "can't attach: what on 7");
	CHECK(err_errno(&err, -2, "open %s", "x") == -2);
	CHECK_STRING(err.message, "open x: No such file or directory");
	CHECK(err_set(NULL, -3, "dropped") == -3);
}

TEST(words_are_wrapped_between_two_of_them)
{
	static const struct {
		const char *words, *wrapped;
		size_t columns, lines;
	} rows[] = {
		{"", "", 10, 0},
		{"one", "- one\n", 10, 1},
		{"one two", "- one two\n", 9, 1},
		{"one two", "- one\n   two\n", 8, 2},
		/* What has no blank is ended where the line is full. */
		{"abcdefghijkl", "- abcdef\n   ghijk\n   l\n", 8, 3},
		{"\xc3\xbc\xc3\xbc \xc3\xbc", "- \xc3\xbc\xc3\xbc \xc3\xbc\n", 6, 1},
		{"ab", "- a\n   b\n", 1, 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct text text _cleanup_text_ = {0};

		CHECK_U64(text_append_wrapped(&text, "- ", "   ", rows[i].columns, rows[i].words),
			  rows[i].lines);
		CHECK_STRING(text_string(&text), rows[i].wrapped);
	}
}

UNIT_MAIN()
