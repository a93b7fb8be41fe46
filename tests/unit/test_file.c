/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/temporary_file.h"
#include "unit.h"

TEST(what_is_written_is_read)
{
	_cleanup_close_ int fd = -1;
	struct err err = {0};
	char read[16] = "";

	CHECK_OK(temporary_file_open(&fd, &err), err);
	CHECK(file_write(fd, "0123", 4) == 0);
	CHECK(file_write_at(fd, "abcd", 4, 2) == 0);
	CHECK_U64(file_read_at(fd, read, 6, 0), 6);
	CHECK_STRING(read, "01abcd");
	CHECK_U64(file_read_at(fd, read, sizeof(read), 4), 2);
	CHECK_U64(file_read_at(fd, read, sizeof(read), 6), 0);
}

TEST(errors_are_told)
{
	_cleanup_close_ int full = open("/dev/full", O_RDWR | O_CLOEXEC);
	char byte;

	CHECK(file_write(full, "x", 1) == -ENOSPC);
	CHECK(file_write_at(full, "x", 1, 0) == -ENOSPC);
	CHECK(file_write(-1, "x", 1) == -EBADF);
	CHECK(file_read_at(-1, &byte, 1, 0) == -EBADF);
}

/* A FIFO would keep who opens it, or be read by its other end. */
TEST(only_plain_files_are_opened)
{
	char folder[] = "/tmp/gpuprobe-unit-XXXXXX";
	_cleanup_close_ int folder_fd = -1, plain = -1;
	struct stat status;

	CHECK(mkdtemp(folder) != NULL);
	folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(!mkfifoat(folder_fd, "fifo", 0600));
	plain = openat(folder_fd, "plain", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(!file_write(plain, "123", 3));
	close(plain);
	plain = file_open_plain(folder_fd, "plain", &status);
	CHECK(plain >= 0);
	CHECK_U64(status.st_size, 3);
	CHECK(file_open_plain(folder_fd, "fifo", &status) == -ENOEXEC);
	CHECK(file_open_plain(AT_FDCWD, "/dev/null", &status) == -ENOEXEC);
	CHECK(file_open_plain(AT_FDCWD, folder, &status) == -ENOEXEC);
	CHECK(file_open_plain(folder_fd, "none", &status) == -ENOENT);
	unlinkat(folder_fd, "fifo", 0);
	unlinkat(folder_fd, "plain", 0);
	rmdir(folder);
}

UNIT_MAIN()
