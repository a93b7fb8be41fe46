/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles for XProf and TensorBoard. What their readers insist on stands in docs/formats/xplane.md. One pass in
 * time order packs the events of each line into a spool of its own; the planes are joined from these at the end.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_H

#include "exporters/exporter.h"

extern const struct view_sink xplane_sink;

int xplane_create(const char *path, bool gzip, void **ret_data, struct err *err);
int xplane_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err);

#endif
