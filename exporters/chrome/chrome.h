/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chrome trace events as a strict JSON object (.json, .json.gz), one event a line, for ui.perfetto.dev,
 * chrome://tracing and everything else that reads them: metadata, then the names of all rows, then the
 * events in time order. What the readers really do with it is in tests/conformance/.
 */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_H

#include "base/err.h"
#include "view/view.h"

extern const struct view_sink chrome_sink;
int chrome_create(const char *path, bool gzip, void **ret_data, struct err *err);
int chrome_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err);

#endif
