/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions, by DWARF. What is damaged is left out; what it says is believed otherwise: it is read
 * where that can do no harm (see resolve.h).
 */
#ifndef GPUPROBE_RESOLVE_SOURCE_LINES_H
#define GPUPROBE_RESOLVE_SOURCE_LINES_H

#include "base/types.h"

#define SOURCE_LEVELS_MAX 64 /* inlined functions deeper than that count as the last one's */

/* One function at an address. Strings live until the call back returns. */
struct source_level {
	const char *symbol; /* mangled where it has such a name; NULL: unknown */
	const char *file;   /* NULL: unknown */
	u32 line;
};

/*
 * fd: a file with debug information. addresses: of the file, sorted. Calls found with those that debug information
 * covers, in no certain order, levels innermost first, the last one the function whose code it is. 0 or -errno.
 */
int source_lines_find(int fd, const u64 *addresses, size_t count,
		      void (*found)(void *data, size_t index, const struct source_level *levels,
				    size_t level_count),
		      void *data);

#endif
