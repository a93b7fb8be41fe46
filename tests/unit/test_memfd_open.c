/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A memfd is opened by what it is, not by how it is called. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/memfd_open.h"
#include "unit.h"

/* /proc/self/fd as a folder, and the path in it. */
static int open_own(int fd, const char *name, int *ret_fd)
{
	int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY), result;
	char path[16];

	snprintf(path, sizeof(path), "%d", fd);
	result = memfd_open(folder, path, name, ret_fd);
	close(folder);
	return result;
}

TEST(a_memfd_is_opened_anew)
{
	int fd = memfd_create("wanted", MFD_CLOEXEC), opened = -1;
	struct stat own, found;

	CHECK(fd >= 0);
	CHECK(open_own(fd, "wanted", &opened) == 0);
	CHECK(!fstat(fd, &own) && !fstat(opened, &found) && own.st_ino == found.st_ino);
	CHECK(write(opened, "x", 1) == 1);
	/* A description of its own: with a place in the file of its own. */
	CHECK(lseek(fd, 0, SEEK_CUR) == 0);
	CHECK((fcntl(opened, F_GETFD) & FD_CLOEXEC) != 0);
	close(opened);
	close(fd);
}

TEST(others_are_refused)
{
	char folder[] = "/tmp/test_memfd_open.XXXXXX", path[128];
	int fd = memfd_create("other", MFD_CLOEXEC), pipes[2], opened = -1;

	CHECK(open_own(fd, "wanted", &opened) == -EBUSY);
	CHECK(open_own(fd, "othe", &opened) == -EBUSY);
	close(fd);
	CHECK(!pipe(pipes));
	CHECK(open_own(pipes[0], "wanted", &opened) == -EBUSY);
	close(pipes[0]);
	close(pipes[1]);
	CHECK(open_own(9999, "wanted", &opened) == -ENOENT);
	/* A file that is called as /proc shows a memfd, deleted or not. */
	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/memfd:wanted (deleted)", folder);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	CHECK(open_own(fd, "wanted", &opened) == -EBUSY);
	unlink(path);
	CHECK(open_own(fd, "wanted", &opened) == -EBUSY);
	rmdir(folder);
	close(fd);
	CHECK(opened == -1);
}

UNIT_MAIN()
