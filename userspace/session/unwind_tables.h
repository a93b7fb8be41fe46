/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of files, as the BPF programs of a recording have them: made, handed over, and mended where a stack led through
 * code that they say nothing of. For session/unwinding.c; one thread at a time.
 */
#ifndef GPUPROBE_SESSION_UNWIND_TABLES_H
#define GPUPROBE_SESSION_UNWIND_TABLES_H

#include <pthread.h>

#include "collect/agent/agent_stacks.h"
#include "collect/bpf/bpf_source.h"
#include "unwind/row_reader.h"
#include "unwind/uncovered_code.h"

struct unwind_table;

/* Zero-initialise but for what is the caller's. One thread at a time, but for what shares. */
struct unwind_tables {
	int cache_fd; /* folder of unwind/unwind_cache.h, -1: none; the caller's */
	struct row_reader *reader; /* the caller's */
	struct unwind_rules rules;
	size_t rules_put;
	struct unwind_table *items; /* those that are put first */
	size_t count, capacity;
	size_t put;
	pthread_mutex_t lock; /* of rules and items, for who shares them meanwhile; the caller's, initialised */
};

/* Reads a file, by any number below UNWIND_FILES_MAX that none had before; fd and path stay the caller's, and must outlive the tables.
 * Without BPF programs: they get it by unwind_tables_put(). May block on the disk. */
int unwind_tables_read(struct unwind_tables *tables, u32 file, int fd, const char *path,
		       struct err *err);
/* Hands over what was read since the last time. */
int unwind_tables_put(struct unwind_tables *tables, const struct bpf_source *source, struct err *err);
/* A stack led to this address of a file, of which its table says nothing: the rules are told by the instructions, if they can be. */
int unwind_tables_mend(struct unwind_tables *tables, const struct bpf_source *source, u32 file,
		       u64 address, struct err *err);
/* Those of these files to an agent too, as far as they are read. From any thread; false: another one kept it waiting so long. */
bool unwind_tables_share(struct unwind_tables *tables, const struct unwind_mapping *mappings, size_t count,
			 struct agent_stacks *stacks, u64 timeout_ns);
void unwind_tables_free(struct unwind_tables *tables);

#endif
