/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int file_write(int fd, const void *data, size_t size_bytes)
{
	size_t done = 0;

	while (done < size_bytes) {
		ssize_t count = write(fd, (const u8 *)data + done, size_bytes - done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count < 0 ? -errno : -EIO;
		done += (size_t)count;
	}
	return 0;
}

int file_write_at(int fd, const void *data, size_t size_bytes, u64 offset)
{
	size_t done = 0;

	while (done < size_bytes) {
		ssize_t count = pwrite(fd, (const u8 *)data + done, size_bytes - done,
				       (off_t)(offset + done));

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count < 0 ? -errno : -EIO;
		done += (size_t)count;
	}
	return 0;
}

ssize_t file_read_at(int fd, void *ret_data, size_t size_bytes, u64 offset)
{
	size_t done = 0;

	while (done < size_bytes) {
		ssize_t count =
			pread(fd, (u8 *)ret_data + done, size_bytes - done, (off_t)(offset + done));

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (count == 0)
			break;
		done += (size_t)count;
	}
	return (ssize_t)done;
}

int file_open_plain(int folder_fd, const char *path, struct stat *ret_status)
{
	int fd;

	if (fstatat(folder_fd, path, ret_status, 0) < 0)
		return -errno;
	if (!S_ISREG(ret_status->st_mode))
		return -ENOEXEC;
	fd = openat(folder_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_status) < 0 || !S_ISREG(ret_status->st_mode)) {
		close(fd);
		return -ENOEXEC;
	}
	return fd;
}
