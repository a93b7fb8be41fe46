/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/agent/agent_handover.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "process/memfd.h"
#include "process/proc_file.h"
#include "base/cleanup.h"

/* The descriptor could be of a file that only root may write to: what it is, is looked at before it is opened for
 * writing, and it is the same file that is opened then. */
static int open_memfd(const struct target *target, u32 number)
{
	_cleanup_free_ char *link = NULL;
	_cleanup_close_ int fd = -1;
	struct statfs file_system;
	struct stat status;
	char path[64];
	int result;

	snprintf(path, sizeof(path), "fd/%u", number);
	fd = openat(target->proc_fd, path, O_PATH | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || fstat(fd, &status) || fstatfs(fd, &file_system) ||
	    proc_link_read(AT_FDCWD, path, &link))
		return -EBADF;
	if (!S_ISREG(status.st_mode) || status.st_nlink || file_system.f_type != TMPFS_MAGIC ||
	    strcmp(link, "/memfd:" AGENT_MEMFD_CUPTI " (deleted)"))
		return -EPERM;
	result = open(path, O_RDWR | O_CLOEXEC);
	return result < 0 ? -errno : result;
}

static int fill(const struct target *target, u32 number, const struct cupti_supply *supply)
{
	_cleanup_close_ int from_fd = cupti_supply_open(supply), fd = open_memfd(target, number);
	int result = from_fd < 0 ? from_fd : fd < 0 ? fd : memfd_copy(fd, from_fd);

	return result ? result : memfd_seal(fd);
}

void agent_handover_serve(const struct target *target, struct agent_control *control,
			  const struct cupti_supply *supply)
{
	u32 state = __atomic_load_n(&control->handover_state, __ATOMIC_ACQUIRE);
	bool failed;

	if (state != AGENT_HANDOVER_ASKED || !supply->by_memfd)
		return;
	failed = fill(target, control->handover_fd, supply);
	__atomic_store_n(&control->handover_state,
			 failed ? AGENT_HANDOVER_FAILED : AGENT_HANDOVER_DONE, __ATOMIC_RELEASE);
}
