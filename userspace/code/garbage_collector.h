/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code of a file collects CPython's garbage, of files that name only what they export: Debian's interpreter, those of containers. It is the
 * function (gc_collect_main, since 3.10) that every collection is in, those that begin by themselves too. It is known by two things:
 * - PyGC_Collect, which is exported, calls it, or calls a function without a name that does. Nothing that only makes objects is called so;
 * - it takes the address of the line that is printed as a collection begins (gc.DEBUG_STATS), and none of the others does.
 */
#ifndef GPUPROBE_CODE_GARBAGE_COLLECTOR_H
#define GPUPROBE_CODE_GARBAGE_COLLECTOR_H

#include "elf/elf_file.h"

#define GARBAGE_COLLECTOR_PARTS_MAX 8

struct garbage_collector {
	struct elf_extent parts[GARBAGE_COLLECTOR_PARTS_MAX]; /* the first begins at its entry */
	size_t count; /* 0: the file has none, or it is not known which */
};

/* symbols: of the file. Where it exports PyGC_Collect .eh_frame is read, and a handful of functions decoded: where it takes
 * more, of a file that was made for that, it is not known. 0 or -ENOMEM. */
int garbage_collector_find(const struct elf_file *file, const struct elf_symbols *symbols,
			   struct garbage_collector *ret_collector);
/* Is this address in it? */
bool garbage_collector_holds(const struct garbage_collector *collector, u64 address);

#endif
