/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages on a terminal, and elsewhere. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "unit.h"

#define WORDS 60

/* What a message of so many words is to one who reads the other end; ret_lines: as log_lines() counts. Free it. */
static char *said(int to, int from, size_t *ret_lines)
{
	struct text words _cleanup_text_ = {0};
	int saved _cleanup_close_ = dup(STDERR_FILENO);
	char *text = calloc(1, 4096);
	size_t before = log_lines(), size = 0;
	ssize_t got;

	for (unsigned i = 0; i < WORDS; i++)
		text_appendf(&words, "%sword%u", i ? " " : "", i);
	fflush(stderr);
	dup2(to, STDERR_FILENO);
	log_info("%s", text_string(&words));
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	*ret_lines = log_lines() - before;
	while (!strstr(text, "word59") && (got = read(from, text + size, 4095 - size)) > 0)
		size += got;
	return text;
}

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	while (*text) {
		size_t length = strcspn(text, "\r\n");

		longest = length > longest ? length : longest;
		text += length + strspn(text + length, "\r\n");
	}
	return longest;
}

TEST(a_message_goes_on_in_the_next_line_of_a_terminal)
{
	int master _cleanup_close_ = posix_openpt(O_RDWR | O_NOCTTY), slave _cleanup_close_ = -1;
	size_t lines;
	char *text;

	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK(slave >= 0);
	text = said(slave, master, &lines);
	CHECK(longest_line(text) <= LOG_COLUMNS);
	CHECK(longest_line(text) > LOG_COLUMNS - strlen("word10 "));
	CHECK_U64(lines, 4);
	CHECK(strstr(text, "\r\n  word"));
	free(text);
}

TEST(a_message_is_one_line_elsewhere)
{
	int ends[2];
	size_t lines;
	char *text;

	CHECK(pipe(ends) == 0);
	text = said(ends[1], ends[0], &lines);
	CHECK_U64(lines, 4);
	CHECK(longest_line(text) > 3 * LOG_COLUMNS);
	CHECK(!strchr(text, '\n') || !strchr(text, '\n')[1]);
	free(text);
	close(ends[0]);
	close(ends[1]);
}

static void say_lines(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_debug_lines(format, arguments);
	va_end(arguments);
}

TEST(what_a_library_says_is_a_message_a_line_for_who_wants_all)
{
	int ends[2], saved _cleanup_close_ = dup(STDERR_FILENO);
	char text[256] = "";

	CHECK(pipe(ends) == 0);
	fflush(stderr);
	dup2(ends[1], STDERR_FILENO);
	say_lines("not %s\n", "wanted");
	log_set_level(LOG_DEBUG);
	say_lines("libbpf: %d\n\n  second\x1b\n", 1);
	say_lines("third");
	log_set_level(LOG_NORMAL);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	CHECK(read(ends[0], text, sizeof(text) - 1) > 0);
	CHECK_STRING(text, "gpuprobe: libbpf: 1\n"
			   "gpuprobe: \n"
			   "gpuprobe:   second\\x1b\n"
			   "gpuprobe: third\n");
	close(ends[0]);
	close(ends[1]);
}

UNIT_MAIN()
