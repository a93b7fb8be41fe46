/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/temporary_file.h"
#include "import/ndjson.h"
#include "import/nsys.h"

#define CHUNK_BYTES (64 * 1024)

/* Replaces *fd by a temporary file with the same bytes, where it is nothing that can be read twice.
 */
static int make_seekable(int *fd, struct err *err)
{
	_cleanup_close_ int temporary = -1;
	char chunk[CHUNK_BYTES];
	ssize_t size_bytes = 0;
	int result;

	if (lseek(*fd, 0, SEEK_CUR) >= 0)
		return 0;
	result = temporary_file_open(&temporary, err);
	while (result == 0) {
		size_bytes = read(*fd, chunk, sizeof(chunk));
		if (size_bytes < 0 && errno == EINTR)
			continue;
		if (size_bytes < 0)
			return err_errno(err, -errno, "reading");
		if (size_bytes == 0)
			break;
		result = file_write(temporary, chunk, size_bytes);
		if (result < 0)
			err_errno(err, result,
				  "keeping it in a temporary file (set TMPDIR to a folder with "
				  "space)");
	}
	if (result < 0)
		return result;
	close(*fd);
	*fd = take_fd(&temporary);
	return 0;
}

enum input_form {
	INPUT_CAPTURE, /* or nothing that we know, which the reader says better */
	INPUT_TEXT,
	INPUT_DATABASE,
};

/* By its first bytes. */
static int find_form(int fd, enum input_form *ret_form, struct err *err)
{
	static const char database[] = "SQLite format 3";
	char start[4096];
	ssize_t size_bytes = pread(fd, start, sizeof(start) - 1, 0);
	const char *first;

	if (size_bytes < 0)
		return err_errno(err, -errno, "reading");
	if (size_bytes == 0)
		return err_set(err, -EINVAL, "it is empty, and no capture");
	start[size_bytes] = '\0';
	if (size_bytes > 2 && memcmp(start, "\x1f\x8b", 2) == 0)
		return err_set(err, -EINVAL, "it is compressed: gunzip it first");
	first = start + (strncmp(start, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
	*ret_form = INPUT_CAPTURE;
	if (size_bytes >= (ssize_t)sizeof(database) &&
	    memcmp(start, database, sizeof(database)) == 0)
		*ret_form = INPUT_DATABASE;
	else if (first[strspn(first, " \t\r\n")] == '{')
		*ret_form = INPUT_TEXT;
	return 0;
}

/* Replaces *fd by a capture of what is in it. */
static int import(const char *path, enum input_form form, int *fd, struct err *err)
{
	int capture_fd = -1, result;

	if (form == INPUT_CAPTURE)
		return 0;
	if (lseek(*fd, 0, SEEK_SET) < 0)
		return err_errno(err, -errno, "reading");
	result = form == INPUT_TEXT ? import_ndjson(*fd, path, &capture_fd, err)
				    : import_nsys(*fd, &capture_fd, err);
	if (result < 0)
		return result;
	close(*fd);
	*fd = capture_fd;
	return 0;
}

static int open_path(const char *path, int *ret_fd, struct err *err)
{
	struct stat status;
	int fd;

	/* Non-blocking and the like would stay with whoever shares standard input: a copy is good
	 * enough. */
	fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				    : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) < 0) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return err_set(err, code, "%s", strerror(-code));
	}
	if (S_ISDIR(status.st_mode)) {
		close(fd);
		return err_set(err, -EISDIR, "it is a folder");
	}
	*ret_fd = fd;
	return 0;
}

static int open_input(const char *path, struct input *ret_input, struct err *err)
{
	_cleanup_close_ int fd = -1;
	enum input_form form = INPUT_CAPTURE;
	int result = open_path(path, &fd, err);

	if (result == 0)
		result = make_seekable(&fd, err);
	if (result == 0)
		result = find_form(fd, &form, err);
	if (result == 0)
		result = import(path, form, &fd, err);
	if (result == 0)
		result = capture_reader_open(fd, &ret_input->reader, err);
	if (result == 0)
		ret_input->fd = take_fd(&fd);
	return result;
}

int input_open(const char *path, struct input *ret_input, struct err *err)
{
	struct input input = {-1, NULL};
	int result = open_input(path, &input, err);

	if (result < 0) {
		err_prefix(err, "can't read %s", strcmp(path, "-") ? path : "standard input");
		return result;
	}
	*ret_input = input;
	return 0;
}

void input_close(struct input *input)
{
	input->reader = capture_reader_free(input->reader);
	if (input->fd >= 0)
		close(input->fd);
	input->fd = -1;
}
