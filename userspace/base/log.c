/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "base/text.h"

#define LOG_INDENT "  "

static enum log_level log_current_level = LOG_NORMAL;
static u64 log_start_ns;
static size_t log_lines_written;

void log_set_level(enum log_level level)
{
	log_current_level = level;
	log_start_ns = clock_monotonic_ns();
}

enum log_level log_level(void)
{
	return log_current_level;
}

size_t log_lines(void)
{
	return log_lines_written;
}

size_t log_columns(void)
{
	return terminal_columns(STDERR_FILENO, LOG_COLUMNS);
}

/* A line of a message, whatever it holds; on a terminal as many lines as it takes. */
static void append_line(struct text *lines, const char *prefix, const char *message, size_t length)
{
	_cleanup_text_ struct text line = {}, wrapped = {};

	text_append(&line, prefix);
	text_append_terminal(&line, message, length);
	log_lines_written +=
		text_append_wrapped(&wrapped, "", LOG_INDENT, log_columns(), text_string(&line));
	text_append_char(&line, '\n');
	if (isatty(STDERR_FILENO))
		text_append_bytes(lines, text_string(&wrapped), wrapped.length);
	else
		text_append_bytes(lines, text_string(&line), line.length);
}

/* One message is one write. */
static void write_lines(const struct text *lines)
{
	fwrite(text_string(lines), 1, lines->length, stderr);
}

static void log_line(const char *prefix, const char *format, va_list arguments)
{
	_cleanup_text_ struct text message = {}, lines = {};

	text_appendv(&message, format, arguments);
	append_line(&lines, prefix, text_string(&message), message.length);
	write_lines(&lines);
}

void log_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_line("gpuprobe: ", format, arguments);
	va_end(arguments);
}

void log_warning(const char *format, ...)
{
	va_list arguments;

	if (log_current_level < LOG_NORMAL)
		return;
	va_start(arguments, format);
	log_line("gpuprobe: ", format, arguments);
	va_end(arguments);
}

void log_info(const char *format, ...)
{
	va_list arguments;

	if (log_current_level < LOG_NORMAL)
		return;
	va_start(arguments, format);
	log_line("", format, arguments);
	va_end(arguments);
}

void log_debug(const char *format, ...)
{
	va_list arguments;

	if (log_current_level < LOG_DEBUG)
		return;
	va_start(arguments, format);
	log_line("gpuprobe: ", format, arguments);
	va_end(arguments);
}

void log_debug_lines(const char *format, va_list arguments)
{
	_cleanup_text_ struct text message = {}, lines = {};

	if (log_current_level < LOG_DEBUG)
		return;
	text_appendv(&message, format, arguments);
	for (const char *line = text_string(&message); *line;) {
		size_t length = strcspn(line, "\n");

		append_line(&lines, "gpuprobe: ", line, length);
		line += length + (line[length] == '\n');
	}
	write_lines(&lines);
}

void log_phase(const char *what)
{
	if (log_current_level < LOG_DEBUG)
		return;
	log_debug("%7.3f s (CPU %.3f s): %s",
		  (double)(clock_monotonic_ns() - log_start_ns) / NS_PER_SECOND,
		  (double)clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) / NS_PER_SECOND, what);
}
