/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf-PID.map of a process that makes code (JIT): lines START SIZE NAME, in hexadecimal, one a function. It lies in the
 * process's /tmp, is written by it, and untrusted.
 */
#ifndef GPUPROBE_RESOLVE_JIT_MAP_H
#define GPUPROBE_RESOLVE_JIT_MAP_H

#include "resolve/resolve.h"

#define JIT_MAP_MAX_BYTES (256ULL << 20) /* what stands behind is not read */

/* A plain file of its user (or of root); -ENOENT: there is none such. The caller closes. */
int jit_map_open(const struct resolve_process *process, int *ret_fd);

/* Calls found with each of the addresses (sorted) that a line covers; of lines that cover the same one the last holds, so the
 * same address may come again. The name is not terminated. 0 or -errno. */
int jit_map_read(int fd, const u64 *addresses, size_t count,
		 void (*found)(void *data, size_t index, u64 start, const char *name, size_t length),
		 void *data);

#endif
