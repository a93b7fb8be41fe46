/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors with words. Every function that can fail returns 0 (or a count) or -errno, takes a struct err
 * last, and fills it in exactly once, where the reason is known: what, on what, why, what to do. Only
 * verbs print it. A NULL err is allowed everywhere and drops the message.
 */
#ifndef GPUPROBE_BASE_ERR_H
#define GPUPROBE_BASE_ERR_H

#include "base/types.h"

struct err {
	int code; /* -errno, 0: none */
	char message[1024];
};

/* Sets code and message and returns code, so that `return err_set(err, -EINVAL, ...)` works. The message
 * is one sentence or two, no newline, no "error:" in front. Cuts what does not fit. Keeps nothing of an
 * earlier message, but may have err->message among its own arguments. */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "can't VERB OBJECT: " goes before the message that is already there (context given by a caller). */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The usual: "<formatted>: <strerror(-code)>". */
int err_errno(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
