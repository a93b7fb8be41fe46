/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes from a process what it does not need to read files of others. */
#ifndef GPUPROBE_BASE_CONFINEMENT_H
#define GPUPROBE_BASE_CONFINEMENT_H

#include "base/types.h"

struct confinement {
	const char *name; /* of the process, up to 15 characters */
	const int *fds;	  /* that stay open */
	size_t fd_count;
	u64 memory_bytes; /* at most so much more than now */
	bool reads_files; /* of any user */
	bool goes_first;  /* when the machine runs out of memory */
};

/*
 * For a child that was just forked: it ends with its parent, is another user without capabilities (but one to read files, where that is
 * asked for), leaves no core file. Best effort: what it may not give up, as a process without privileges, it has not got.
 */
void confine(const struct confinement *confinement);

#endif
