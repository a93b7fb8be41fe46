/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Some file systems know no files without a name. */
static int open_unlinked(const char *folder)
{
	char *path = NULL;
	int fd;

	if (asprintf(&path, "%s/.gpuprobe-XXXXXX", folder) < 0)
		return -ENOMEM;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		unlink(path);
	free(path);
	return fd;
}

#define PARENTS 3
#define WHERE	"$TMPDIR, /var/tmp or /tmp. Set TMPDIR to a folder with space"

/* An unset one is NULL. /var/tmp before /tmp, which is often memory. */
static void find_parents(const char *ret_parents[PARENTS])
{
	const char *chosen = getenv("TMPDIR");

	ret_parents[0] = chosen && *chosen ? chosen : NULL;
	ret_parents[1] = "/var/tmp";
	ret_parents[2] = "/tmp";
}

int temporary_file_open(int *ret_fd, struct err *err)
{
	const char *folders[PARENTS];
	int fd = -ENOENT;

	find_parents(folders);
	for (size_t i = 0; i < PARENTS; i++) {
		if (!folders[i])
			continue;
		fd = open(folders[i], O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			fd = open_unlinked(folders[i]);
		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
	}
	return err_errno(err, fd, "no temporary file can be made in " WHERE);
}

bool temporary_file_is_failure(int result)
{
	static const int failures[] = {-ENOSPC, -EDQUOT, -EFBIG,  -EROFS,
				       -EACCES, -EPERM,	 -ENOENT, -ENOTDIR};

	for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
		if (result == failures[i])
			return true;
	return false;
}

int temporary_folder_make(const char *name, char **ret_path, struct err *err)
{
	const char *parents[PARENTS];
	int result = -ENOENT;

	find_parents(parents);
	for (size_t i = 0; i < PARENTS; i++) {
		_cleanup_free_ char *folder = NULL;

		if (!parents[i])
			continue;
		if (asprintf(&folder, "%s/%s-XXXXXX", parents[i], name) < 0) {
			folder = NULL;
			return err_errno(err, -ENOMEM, "can't make a folder");
		}
		if (mkdtemp(folder)) {
			*ret_path = take_pointer(&folder);
			return 0;
		}
		result = -errno;
	}
	return err_errno(err, result, "no folder can be made in " WHERE);
}
