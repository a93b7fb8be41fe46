/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/time_namespace.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define HOST_TIME_NAMESPACE_INODE 0xEFFFFFFAU /* PROC_TIME_INIT_INO: the same on every kernel */

/* From the host's clock, also of a namespace that was made in another one. */
static s64 offset_ns(int directory_fd, const char *path)
{
	_cleanup_free_ char *offsets = NULL;
	long long seconds, nanoseconds;
	const char *line;

	if (proc_file_read(directory_fd, path, &offsets, NULL))
		return 0;
	line = strstr(offsets, "monotonic");
	if (!line || sscanf(line, "monotonic %lld %lld", &seconds, &nanoseconds) != 2)
		return 0;
	return seconds * (s64)NS_PER_SECOND + nanoseconds;
}

s64 time_namespace_shift_ns(const struct target *target)
{
	if (proc_inode(target->proc_fd, "ns/time") == proc_inode(AT_FDCWD, "/proc/self/ns/time"))
		return 0;
	return -offset_ns(target->proc_fd, "timens_offsets");
}

s64 time_namespace_own_offset_ns(void)
{
	u64 inode = proc_inode(AT_FDCWD, "/proc/self/ns/time");

	/* 0: the kernel has none. */
	if (!inode || inode == HOST_TIME_NAMESPACE_INODE)
		return 0;
	return offset_ns(AT_FDCWD, "/proc/self/timens_offsets");
}
