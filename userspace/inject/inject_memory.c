/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_memory.h"

#include <errno.h>
#include <unistd.h>

int inject_memory_read(int memory_fd, u64 address, void *ret_bytes, size_t size)
{
	ssize_t count = pread(memory_fd, ret_bytes, size, (off_t)address);

	return count == (ssize_t)size ? 0 : count == 0 ? -ESRCH : -EFAULT;
}

int inject_memory_write(int memory_fd, u64 address, const void *bytes, size_t size)
{
	ssize_t count = pwrite(memory_fd, bytes, size, (off_t)address);

	return count == (ssize_t)size ? 0 : count == 0 ? -ESRCH : -EFAULT;
}
