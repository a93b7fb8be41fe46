/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sorts any number of (group, value) pairs in bounded memory: full chunks are sorted and spilled to an
 * unlinked temporary file (beside the capture or in $TMPDIR), sorter_next merges them. For exact medians
 * and quantiles.
 */
#ifndef GPUPROBE_BASE_SORTER_H
#define GPUPROBE_BASE_SORTER_H

#include "base/err.h"
#include "base/types.h"

struct sorter_pair {
	u64 group;
	u64 value;
};

struct sorter;

/* memory_bytes: what it may hold before it spills. */
int sorter_create(size_t memory_bytes, struct sorter **ret_sorter, struct err *err);
int sorter_add(struct sorter *sorter, u64 group, u64 value, struct err *err);
/* Ends the adding; then sorter_next gives the pairs by (group, value): 1, or 0 at the end, or -errno. */
int sorter_finish(struct sorter *sorter, struct err *err);
int sorter_next(struct sorter *sorter, struct sorter_pair *ret_pair, struct err *err);
/* NULL is allowed; returns NULL. */
struct sorter *sorter_free(struct sorter *sorter);

#endif
