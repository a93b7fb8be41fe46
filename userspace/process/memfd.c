/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/file.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

#define COPY_BYTES (256U << 10)

u32 memfd_flags(void)
{
	_cleanup_free_ char *value = NULL;
	u32 flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;

	/* 2: without this flag there are none. It is about execve(), not about mappings. */
	if (!proc_file_read(AT_FDCWD, "/proc/sys/vm/memfd_noexec", &value, NULL) &&
	    atoi(value) >= 2)
		flags |= MFD_NOEXEC_SEAL;
	return flags;
}

int memfd_copy(int fd, int from_fd)
{
	_cleanup_free_ char *bytes = malloc(COPY_BYTES);
	u64 offset = 0;
	ssize_t count;

	if (!bytes)
		return -ENOMEM;
	while ((count = file_read_at(from_fd, bytes, COPY_BYTES, offset)) > 0) {
		int result = file_write(fd, bytes, count);

		if (result)
			return result;
		offset += count;
	}
	return (int)count;
}

int memfd_seal(int fd)
{
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)
		       ? -errno
		       : 0;
}
