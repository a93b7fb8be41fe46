/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words to the user on stderr, by level. The verbs use it, and main.c, which says what was wrong with the options before there is a
 * verb; all else returns errors, at most says something at LOG_DEBUG, and writes to stderr by no other way.
 * A message is one line; on a terminal it goes on in the next where it is longer than that is wide, or LOG_COLUMNS.
 * The level, with when it was set and how many lines there were, is one of the two globals that the program has.
 */
#ifndef GPUPROBE_BASE_LOG_H
#define GPUPROBE_BASE_LOG_H

#include <stdarg.h>
#include <stddef.h>

#define LOG_COLUMNS 120

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_level(void);
/* How many lines have been written so far, as on a terminal. */
size_t log_lines(void);
/* How long these are at most. */
size_t log_columns(void);

/* "gpuprobe: " + message + newline, at any level. Control characters in the arguments are escaped: names
 * of a target are untrusted. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, from LOG_NORMAL on: what the user should know though it is no error. */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Without the prefix, from LOG_NORMAL on: what is going on. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* With the prefix, at LOG_DEBUG (-v). */
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What a library says, of any number of lines, which are messages each. */
void log_debug_lines(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
/* log_debug() of a part of the work that is done now: with the time since the level was set and the CPU time of this process,
 * so that -v shows where the time of a start and of an end goes. */
void log_phase(const char *what);

#endif
