/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks through the folders in which Triton and PyTorch's compiler (inductor) keep what they made of kernels: TRITON/HASH/NAME.ttir,
 * INDUCTOR/triton/DEVICE/HASH/NAME.ttir, INDUCTOR/ab/cabc...py. What is newest comes first. Run by a process without rights and with a
 * bound on its time: see kernel_sources.h.
 */
#ifndef GPUPROBE_RESOLVE_KERNEL_CACHE_H
#define GPUPROBE_RESOLVE_KERNEL_CACHE_H

#include "base/types.h"

struct kernel_cache_process {
	u32 pid;
	u32 uid;
	int root_fd; /* its root folder, -1: ours */
	/* As the process sees them; NULL: not known. */
	const char *triton_folder;
	const char *inductor_folder;
	const char *inductor_parent; /* of torchinductor_USER, where inductor_folder is not known */
};

enum kernel_cache_type {
	KERNEL_CACHE_SOURCE = 1, /* a kernel of Triton: name, file, line */
	KERNEL_CACHE_MADE,	 /* a kernel of inductor: name, file (the same as in its source), launcher, nodes, operations */
	KERNEL_CACHE_END,	 /* all was looked through */
};

enum kernel_cache_text {
	KERNEL_CACHE_NAME,
	KERNEL_CACHE_FILE,
	KERNEL_CACHE_LAUNCHER, /* the file whose code launches it */
	KERNEL_CACHE_NODES,
	KERNEL_CACHE_OPERATIONS,
	KERNEL_CACHE_TEXTS
};

#define KERNEL_CACHE_TEXT_MAX_BYTES 4096

/* In the pipe, then its texts. */
struct kernel_cache_message {
	u32 type;
	u32 process; /* index */
	u32 line;
	u32 confirmed; /* 1: a function of that name begins there now */
	u16 bytes[KERNEL_CACHE_TEXTS];
	u16 pad[3];
};

_Static_assert(sizeof(struct kernel_cache_message) == 32, "no padding is sent");

/* Writes what it finds into the pipe; ends early when nobody reads. skip: those of which nothing is wanted. */
void kernel_cache_run(const struct kernel_cache_process *processes, const bool *skip, size_t count, int pipe_fd);

#endif
