/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"

static enum log_level log_current_level = LOG_NORMAL;
static u64 log_start_ns;

void log_set_level(enum log_level level)
{
	log_current_level = level;
	log_start_ns = clock_monotonic_ns();
}

enum log_level log_level(void)
{
	return log_current_level;
}

/* One message is one line and one write, whatever the arguments hold. */
static void log_line(const char *prefix, const char *format, va_list arguments)
{
	_cleanup_text_ struct text message = {}, line = {};

	text_appendv(&message, format, arguments);
	text_append(&line, prefix);
	text_append_terminal(&line, text_string(&message), message.length);
	text_append_char(&line, '\n');
	fwrite(text_string(&line), 1, line.length, stderr);
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

void log_phase(const char *what)
{
	if (log_current_level < LOG_DEBUG)
		return;
	log_debug("%7.3f s (CPU %.3f s): %s",
		  (double)(clock_monotonic_ns() - log_start_ns) / NS_PER_SECOND,
		  (double)clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) / NS_PER_SECOND, what);
}
