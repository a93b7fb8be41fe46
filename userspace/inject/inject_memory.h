/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of the target. */
#ifndef GPUPROBE_INJECT_INJECT_MEMORY_H
#define GPUPROBE_INJECT_INJECT_MEMORY_H

#include <stddef.h>

#include "base/types.h"

/* memory_fd: /proc/PID/mem. 0 or -EFAULT (nothing is mapped there), -ESRCH */
int inject_memory_read(int memory_fd, u64 address, void *ret_bytes, size_t size);
int inject_memory_write(int memory_fd, u64 address, const void *bytes, size_t size);

#endif
