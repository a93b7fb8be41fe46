/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where kernels are written that processes compiled while they ran (Triton, PyTorch's inductor): by what these keep in folders of the
 * process's user. All of it is a stranger's: it is read by a process of its own, without privileges but to read files, with a
 * bound on its memory, and ended when its time is over. What it has found until then counts.
 */
#ifndef GPUPROBE_RESOLVE_KERNEL_SOURCES_H
#define GPUPROBE_RESOLVE_KERNEL_SOURCES_H

#include "base/map.h"
#include "resolve/kernel_cache.h"

/* Strings are valid during the callback, "": not known. */
struct kernel_source {
	size_t process; /* index */
	u32 line;	/* 0: not known */
	bool confirmed; /* a function of that name begins there now */
	const char *name, *file, *launcher, *nodes, *operations;
};

struct kernel_sources_status {
	u64 count; /* that were found */
	bool cut;  /* not all was looked through */
	u64 took_ns;
};

/* Of kernels whose names are in `names`, each place that may be theirs, once a process. 0, -errno, or the callback's negative
 * result. Blocks for time_ns at most and a little. */
int kernel_sources_find(const struct kernel_cache_process *processes, size_t count, const struct string_table *names, u64 time_ns,
			int (*callback)(void *data, const struct kernel_source *source), void *data,
			struct kernel_sources_status *ret_status);

#endif
