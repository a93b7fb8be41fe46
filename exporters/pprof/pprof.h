/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile for pprof, Pyroscope, Parca, speedscope and Perfetto's page for such: what ran, waited and was allocated, by stack, thread and
 * process. Every sum of the capture is a type of sample of its own.
 */
#ifndef GPUPROBE_EXPORTERS_PPROF_PPROF_H
#define GPUPROBE_EXPORTERS_PPROF_PPROF_H

#include "base/err.h"
#include "view/view.h"

extern const struct view_sink pprof_sink;

/* The file is compressed whatever its name says: that is the format. */
int pprof_create(const char *path, bool gzip, void **ret_data, struct err *err);
int pprof_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err);

#endif
