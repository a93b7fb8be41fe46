#include "base/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

int temporary_file_open(int *ret_fd, struct err *err)
{
	/* /var/tmp before /tmp, which is often memory. */
	const char *folders[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int fd = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		if (!folders[i] || !*folders[i])
			continue;
		fd = open(folders[i], O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			fd = open_unlinked(folders[i]);
		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
	}
	return err_errno(
		err, fd,
		"no temporary file can be made in $TMPDIR, /var/tmp or /tmp. Set TMPDIR to "
		"a folder with space");
}
