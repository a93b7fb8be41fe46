/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/time_namespace.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/clock.h"

s64 time_namespace_shift_ns(const struct target *target)
{
	_cleanup_free_ char *offsets = NULL;
	long long seconds, nanoseconds;
	const char *line;

	if (proc_inode(target->proc_fd, "ns/time") == proc_inode(AT_FDCWD, "/proc/self/ns/time") ||
	    proc_file_read(target->proc_fd, "timens_offsets", &offsets, NULL))
		return 0;
	line = strstr(offsets, "monotonic");
	if (!line || sscanf(line, "monotonic %lld %lld", &seconds, &nanoseconds) != 2)
		return 0;
	return -(seconds * (s64)NS_PER_SECOND + nanoseconds);
}
