/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An SQLite database in the shape of Nsight Systems' own exports (schema 3.25), which `nsys stats` and what people wrote
 * for such files read. What it says: nsys_tables.def (events), nsys_facts.c (the rest).
 */
#ifndef GPUPROBE_EXPORTERS_NSYS_NSYS_H
#define GPUPROBE_EXPORTERS_NSYS_NSYS_H

#include "base/err.h"
#include "view/view.h"

extern const struct view_sink nsys_sink;

int nsys_create(const char *path, bool gzip, void **ret_data, struct err *err);
int nsys_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err);

#endif
