/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/sha256.h"

#define OTHERS_MAY_WRITE (S_IWGRP | S_IWOTH)

static bool is_ours(const struct stat *status)
{
	return status->st_uid == geteuid() && !(status->st_mode & OTHERS_MAY_WRITE);
}

int cache_folder_open(const char *path, int *ret_fd)
{
	_cleanup_free_ char *above = strdup(path);
	char *slash = above ? strrchr(above, '/') : NULL;
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (!above)
		return -ENOMEM;
	if (slash && slash > above) {
		*slash = 0;
		(void)mkdir(above, 0700);
	}
	(void)mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		return -errno;
	if (!is_ours(&status))
		return -EPERM;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Its last bytes are the digest of the others. */
static bool is_whole(const u8 *bytes, size_t size)
{
	u8 digest[SHA256_BYTES];
	struct sha256 sha;

	if (size < SHA256_BYTES)
		return false;
	sha256_begin(&sha);
	sha256_add(&sha, bytes, size - SHA256_BYTES);
	sha256_end(&sha, digest);
	return !memcmp(digest, bytes + size - SHA256_BYTES, SHA256_BYTES);
}

int cache_folder_read(int folder_fd, const char *name, u8 **ret_bytes, size_t *ret_size)
{
	/* A named pipe would wait for who writes it. */
	_cleanup_close_ int fd =
		openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_cleanup_free_ u8 *bytes = NULL;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) || !is_ours(&status) ||
	    (u64)status.st_size > CACHE_FILE_MAX_BYTES)
		return -ENOENT;
	bytes = malloc((size_t)status.st_size + 1);
	if (!bytes || file_read_at(fd, bytes, (size_t)status.st_size, 0) != status.st_size ||
	    !is_whole(bytes, (size_t)status.st_size))
		return -ENOENT;
	(void)futimens(fd, NULL); /* what is used stays */
	*ret_size = (size_t)status.st_size - SHA256_BYTES;
	*ret_bytes = take_pointer(&bytes);
	return 0;
}

/* ---- writing ---- */

struct cached_file {
	char name[NAME_MAX + 1];
	u64 used_ns;
	u64 size_bytes;
};

static int latest_first(const void *left, const void *right)
{
	const struct cached_file *a = left, *b = right;

	return a->used_ns > b->used_ns ? -1 : a->used_ns < b->used_ns;
}

void cache_folder_shrink(int folder_fd, u64 max_bytes, size_t max_files)
{
	int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *folder = copy < 0 ? NULL : fdopendir(copy);
	_cleanup_free_ struct cached_file *files = NULL;
	size_t count = 0, capacity = 0;
	struct dirent *entry;
	u64 total_bytes = 0;

	while (folder && (entry = readdir(folder))) {
		struct stat status;

		if (fstatat(folder_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    S_ISDIR(status.st_mode) || array_reserve(&files, &capacity, count + 1))
			continue;
		files[count] =
			(struct cached_file){.used_ns = (u64)status.st_mtim.tv_sec * NS_PER_SECOND +
							(u64)status.st_mtim.tv_nsec,
					     .size_bytes = (u64)status.st_size};
		memcpy(files[count++].name, entry->d_name, strlen(entry->d_name) + 1);
	}
	if (count)
		qsort(files, count, sizeof(*files), latest_first);
	for (size_t i = 0; i < count; i++) {
		total_bytes += files[i].size_bytes;
		if (i >= max_files || total_bytes > max_bytes)
			(void)unlinkat(folder_fd, files[i].name, 0);
	}
}

int cache_folder_write(int folder_fd, const char *name, const u8 *bytes, size_t size)
{
	_cleanup_close_ int fd = -1;
	char temporary[NAME_MAX + 1];
	u8 digest[SHA256_BYTES];
	struct sha256 sha;
	int result;

	if (size > CACHE_FILE_MAX_BYTES - sizeof(digest))
		return -EFBIG;
	snprintf(temporary, sizeof(temporary), "%.200s.%d", name, getpid());
	(void)unlinkat(folder_fd, temporary, 0); /* of one with this number that was killed */
	fd = openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	sha256_begin(&sha);
	sha256_add(&sha, bytes, size);
	sha256_end(&sha, digest);
	result = file_write(fd, bytes, size);
	if (!result)
		result = file_write(fd, digest, sizeof(digest));
	if (!result && renameat(folder_fd, temporary, folder_fd, name))
		result = -errno;
	if (result)
		(void)unlinkat(folder_fd, temporary, 0);
	else
		cache_folder_shrink(folder_fd, CACHE_FOLDER_MAX_BYTES, CACHE_FOLDER_MAX_FILES);
	return result;
}
