/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text form of a capture (one JSON object a line, as exporters/ndjson.c writes it) -> a capture. Hand-written fixtures of the
 * golden tests are such text.
 */
#ifndef GPUPROBE_IMPORT_NDJSON_H
#define GPUPROBE_IMPORT_NDJSON_H

#include "base/err.h"

/* Reads text from fd, writes a capture into a new unlinked temporary file, whose fd is returned. Errors
 * name the line, the field and what was expected. */
int import_ndjson(int fd, const char *path, int *ret_capture_fd, struct err *err);

#endif
