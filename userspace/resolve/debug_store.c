/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/debug_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_folder.h"
#include "base/cleanup.h"
#include "elf/elf_file.h"

#define NAME_BYTES (2 * ELF_BUILD_ID_MAX_BYTES + sizeof(".debug"))

static void name_of(const u8 *build_id, size_t bytes, char ret_name[NAME_BYTES])
{
	size_t length = 0;

	for (size_t i = 0; i < bytes && i < ELF_BUILD_ID_MAX_BYTES; i++)
		length += (size_t)sprintf(ret_name + length, "%02x", build_id[i]);
	sprintf(ret_name + length, ".debug");
}

/* An empty file says that nobody has it. */
int debug_store_find(int folder_fd, const u8 *build_id, size_t bytes, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_BYTES];
	struct stat status;

	name_of(build_id, bytes, name);
	fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode))
		return -ENOENT;
	if (!status.st_size)
		return time(NULL) - status.st_mtime < DEBUG_STORE_UNKNOWN_S ? -ENODATA : -ENOENT;
	(void)futimens(fd, NULL); /* what is used stays */
	*ret_fd = take_fd(&fd);
	return 0;
}

int debug_store_make(int folder_fd, int *ret_fd)
{
	int fd = openat(folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

void debug_store_keep(int folder_fd, const u8 *build_id, size_t bytes, int fd)
{
	char name[NAME_BYTES], path[64];

	name_of(build_id, bytes, name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)unlinkat(folder_fd, name, 0);
	if (!linkat(AT_FDCWD, path, folder_fd, name, AT_SYMLINK_FOLLOW))
		cache_folder_shrink(folder_fd, DEBUG_STORE_MAX_BYTES, DEBUG_STORE_MAX_FILES);
}

void debug_store_note_unknown(int folder_fd, const u8 *build_id, size_t bytes)
{
	int fd = -1;

	if (!debug_store_make(folder_fd, &fd)) {
		debug_store_keep(folder_fd, build_id, bytes, fd);
		close(fd);
	}
}
