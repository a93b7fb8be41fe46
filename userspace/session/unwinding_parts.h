/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Among the files that make session/unwinding.h. */
#ifndef GPUPROBE_SESSION_UNWINDING_PARTS_H
#define GPUPROBE_SESSION_UNWINDING_PARTS_H

#include <pthread.h>

#include "base/map.h"
#include "elf/elf_file.h"
#include "session/unwind_tables.h"
#include "session/unwinding.h"

/* A file whose table is to be read. */
struct wanted_file {
	u32 number;
	int fd;
	char *path;
	u64 bytes;
	bool urgent; /* on a stack as the recording begins */
	bool taken;
};

/* Code without rules that a stack led through; what there is no room for is asked again. */
#define ASKED_MAX 64
struct asked_address {
	u32 file;
	u64 address; /* in the file */
};

/* Where the code of a file stands in it. */
struct code_places {
	struct elf_segment *items;
	size_t count;
	bool of_cuda;
};

struct unwinding {
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct bpf_source *source; /* NULL: not yet; set once, by the main thread */
	struct wanted_file *wanted;
	size_t wanted_count, wanted_capacity;
	size_t taken_count;
	size_t urgent_count; /* of them: urgent ones that are not with the BPF programs yet */
	struct asked_address asked[ASKED_MAX];
	size_t asked_count;
	bool stopping;
	/* The main thread's. */
	bool not_running; /* the targets, when it began */
	bool awaits_cuda;
	struct code_places *places; /* by file of the code map */
	size_t place_count, place_capacity;
	struct code_places vdso;
	struct map looked; /* pid -> when it was looked at */
	struct map put;	   /* pid -> hash of what the BPF programs were told that it maps */
	struct map left;   /* pid -> how much they were not told, at most */
	u64 left_out;	   /* of all of them */
	/* The thread's. */
	struct unwind_tables tables;
};

/* unwinding.c: what a process maps of files, sorted by address. Owned by the caller. 0 or -ENOMEM. */
int unwinding_mappings(const struct unwinding *unwinding, const struct code_map *map, const struct code_process *process,
		       struct unwind_mapping **ret_mappings, size_t *ret_count);

#endif
