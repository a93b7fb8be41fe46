/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perfetto's own format (.pftrace, .pftrace.gz): clocks and tracks, then the events in time order, a packet each. What readers make of it
 * is in docs/formats/perfetto.md.
 */
#ifndef GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_H
#define GPUPROBE_EXPORTERS_PERFETTO_PERFETTO_H

#include "base/err.h"
#include "view/view.h"

extern const struct view_sink perfetto_sink;
int perfetto_create(const char *path, bool gzip, void **ret_data, struct err *err);
int perfetto_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err);

#endif
