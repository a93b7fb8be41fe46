/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text form of a capture (.ndjson): every fact and every event as one JSON object a line, straight
 * from the field table; import/ndjson.h reads it back. Ids are written as what they stand for.
 */
#ifndef GPUPROBE_EXPORTERS_NDJSON_H
#define GPUPROBE_EXPORTERS_NDJSON_H

#include "base/err.h"
#include "view/view.h"

extern const struct view_sink ndjson_sink;
int ndjson_create(const char *path, bool gzip, void **ret_data, struct err *err);
int ndjson_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err);

#endif
