/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

static enum log_level log_current_level = LOG_NORMAL;

void log_set_level(enum log_level level)
{
	log_current_level = level;
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
