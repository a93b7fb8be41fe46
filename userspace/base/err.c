/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *format, ...)
{
	char message[sizeof(err->message)];
	va_list arguments;

	if (!err)
		return code;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	memcpy(err->message, message, sizeof(message));
	err->code = code;
	return code;
}

int err_prefix(struct err *err, const char *format, ...)
{
	char prefix[sizeof(err->message)];
	va_list arguments;

	if (!err)
		return 0;
	va_start(arguments, format);
	vsnprintf(prefix, sizeof(prefix), format, arguments);
	va_end(arguments);
	return err_set(err, err->code, "%s: %s", prefix, err->message);
}

int err_errno(struct err *err, int code, const char *format, ...)
{
	char message[sizeof(err->message)];
	va_list arguments;

	if (!err)
		return code;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	return err_set(err, code, "%s: %s", message, strerror(-code));
}
