/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that looks names up: what it is given, and its main function. */
#ifndef GPUPROBE_RESOLVE_WORKER_H
#define GPUPROBE_RESOLVE_WORKER_H

#include "resolve/resolve.h"

/* An address and where it is in its file. */
struct worker_address {
	u64 file_offset; /* in a file without ELF header: the address itself */
	u32 index;	 /* in the input */
};

/* Addresses in one file, or in what one process made itself. */
struct worker_group {
	int fd;		  /* -1: the JIT map of the process */
	int debug_fd;	  /* what is said to be its debug file; -1: none */
	const char *path; /* of the file */
	const struct resolve_process *process; /* one that maps it; NULL: none is known */
	struct worker_address *addresses; /* sorted by file_offset */
	size_t count;
	bool skip;
	bool is_cut;
};

struct worker_config {
	const struct worker_group *groups;
	size_t group_count;
	size_t first; /* begin with this one: those before it are done */
	u64 debug_max_bytes;
	int pipe_fd;
};

/* Writes what it finds into the pipe, for group after group; ends early when nobody reads. */
void worker_run(const struct worker_config *config);

#endif
