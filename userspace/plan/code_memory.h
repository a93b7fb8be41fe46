/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process has in memory where it maps a file's code, and where that is not what the file has. Pages that are the file's own
 * (/proc/PID/pagemap tells) are not read: reading faults pages into the target.
 */
#ifndef GPUPROBE_PLAN_CODE_MEMORY_H
#define GPUPROBE_PLAN_CODE_MEMORY_H

#include "process/maps.h"
#include "process/modules.h"
#include "process/target.h"
#include "base/types.h"

struct code_memory;

/* What it maps now. Of one that has ended, nothing. 0 or -ENOMEM. */
int code_memory_open(const struct target *target, struct code_memory **ret_memory);
struct code_memory *code_memory_close(struct code_memory *memory); /* NULL allowed; returns NULL */

/* From here on, if the process catches SIGTRAP, a breakpoint is its own where the kernel tells of no uprobe (probe/known_uprobes.h). Not
 * when probes of ours are in: those of single ones without a program are not told of. */
void code_memory_doubt_breakpoints(struct code_memory *memory, const struct target *target);

/* The next mapping of the file's code behind number *index, which begins at 0; without its path. NULL: there is none. */
const struct maps_line *code_memory_next(const struct code_memory *memory, const struct code_module *module,
					 size_t *index);
/* Does the process run another file where it maps the module than the one of fd? See file_pages_are_others(). */
bool code_memory_is_of_another_file(const struct code_memory *memory, const struct code_module *module, int fd);
/* Is code mapped there, of whatever file, or of none? */
bool code_memory_has_code(const struct code_memory *memory, u64 address);
/* The kernel puts none into a mapping that can be written to, or that is shared: a probe there is never hit. */
bool code_memory_takes_breakpoint(const struct code_memory *memory, u64 address);
/* Bytes at an address, as many as there are, 0: none. Also of pages that may only be executed. */
size_t code_memory_read(const struct code_memory *memory, u64 address, void *ret_bytes, size_t size_bytes);

struct code_piece {
	u64 file_offset;
	u32 size_bytes;
	size_t number; /* the caller's */
};

/*
 * Tells of each piece, in each mapping, where memory has something that neither the file has nor the kernel puts there for a
 * uprobe of anybody's, and of those in mappings that take no breakpoint; what can't be read of either is not compared. Pieces are sorted by their place. Reads a page of memory at most
 * once for pieces that follow each other.
 */
typedef void (*code_difference_callback)(void *data, const struct code_piece *piece, u64 address);
void code_memory_compare(struct code_memory *memory, const struct code_module *module,
			 const struct code_piece *pieces, size_t count,
			 code_difference_callback callback, void *data);

#endif
