/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/memfd_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "process/proc_file.h"
#include "base/cleanup.h"

/* The file system of the memfds has no path; one of our own tells which it is. */
static int memfd_device(dev_t *ret_device)
{
	_cleanup_close_ int fd = memfd_create("gpuprobe", MFD_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return -errno;
	*ret_device = status.st_dev;
	return 0;
}

int memfd_open(int directory_fd, const char *path, const char *name, int *ret_fd)
{
	_cleanup_close_ int place = openat(directory_fd, path, O_PATH | O_CLOEXEC);
	_cleanup_free_ char *link = NULL;
	char own_path[32], wanted[64];
	struct stat status;
	dev_t device = 0;
	int result = place < 0 ? -errno : memfd_device(&device);

	if (result)
		return result;
	if (fstat(place, &status))
		return -errno;
	snprintf(own_path, sizeof(own_path), "/proc/self/fd/%d", place);
	snprintf(wanted, sizeof(wanted), "/memfd:%s (deleted)", name);
	result = proc_link_read(AT_FDCWD, own_path, &link);
	if (result)
		return result;
	if (status.st_dev != device || !S_ISREG(status.st_mode) || strcmp(link, wanted) != 0)
		return -EBUSY;
	*ret_fd = open(own_path, O_RDWR | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}
