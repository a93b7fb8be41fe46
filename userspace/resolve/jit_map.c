/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/jit_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "resolve/addresses.h"

#define CHUNK_BYTES (256 * 1024) /* a longer line is none */

int jit_map_open(const struct resolve_process *process, int *ret_fd)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	_cleanup_close_ int root = process->root_fd < 0
					   ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
					   : fcntl(process->root_fd, F_DUPFD_CLOEXEC, 0);
	_cleanup_close_ int fd = -1;
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%u.map",
		 process->pid_in_namespace ? process->pid_in_namespace : process->pid);
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    (status.st_uid && status.st_uid != process->uid))
		return -ENOENT;
	*ret_fd = take_fd(&fd);
	return 0;
}

static bool hex_next(const char **at, const char *end, u64 *ret_value)
{
	const char *c = *at;
	u64 value = 0;

	if (end - c > 2 && c[0] == '0' && c[1] == 'x')
		c += 2;
	for (; c < end && *c != ' '; c++) {
		int digit = *c >= '0' && *c <= '9'   ? *c - '0'
			    : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10
			    : *c >= 'A' && *c <= 'F' ? *c - 'A' + 10
						     : -1;

		if (digit < 0 || value >> 60)
			return false;
		value = value << 4 | (u64)digit;
	}
	if (c == *at || c == end)
		return false;
	*at = c + 1;
	*ret_value = value;
	return true;
}

struct reading {
	const u64 *addresses;
	size_t count;
	void (*found)(void *data, size_t index, u64 start, const char *name, size_t length);
	void *data;
};

static void line_take(const struct reading *reading, const char *line, const char *end)
{
	u64 start, size;

	if (!hex_next(&line, end, &start) || !hex_next(&line, end, &size) || line == end)
		return;
	for (size_t i = addresses_from(reading->addresses, reading->count, start);
	     i < reading->count && reading->addresses[i] - start < size; i++)
		reading->found(reading->data, i, start, line, (size_t)(end - line));
}

/* What stands behind the last line end is the beginning of a line; returns how much that is. */
static size_t lines_take(const struct reading *reading, char *chunk, size_t filled)
{
	char *at = chunk, *end;

	while ((end = memchr(at, '\n', filled - (size_t)(at - chunk)))) {
		line_take(reading, at, end);
		at = end + 1;
	}
	filled -= (size_t)(at - chunk);
	if (filled == CHUNK_BYTES)
		return 0;
	memmove(chunk, at, filled);
	return filled;
}

int jit_map_read(int fd, const u64 *addresses, size_t count,
		 void (*found)(void *data, size_t index, u64 start, const char *name,
			       size_t length),
		 void *data)
{
	const struct reading reading = {addresses, count, found, data};
	_cleanup_free_ char *chunk = malloc(CHUNK_BYTES);
	size_t filled = 0;

	if (!chunk)
		return -ENOMEM;
	for (u64 offset = 0; offset < JIT_MAP_MAX_BYTES;) {
		ssize_t size = file_read_at(fd, chunk + filled, CHUNK_BYTES - filled, offset);

		if (size <= 0)
			return size;
		offset += size;
		filled = lines_take(&reading, chunk, filled + (size_t)size);
	}
	return 0;
}
