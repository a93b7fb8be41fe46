/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FIRST_SIZE_BYTES 4096

int proc_file_read(int directory_fd, const char *path, char **ret_content, size_t *ret_size)
{
	_cleanup_close_ int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *content = NULL;
	size_t size = 0, capacity = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t count;

		if (capacity - size < FIRST_SIZE_BYTES / 2) {
			size_t larger = capacity ? capacity * 2 : FIRST_SIZE_BYTES;
			char *grown =
				larger > PROC_FILE_MAX_BYTES ? NULL : realloc(content, larger);

			if (!grown)
				return -ENOMEM;
			content = grown;
			capacity = larger;
		}
		count = read(fd, content + size, capacity - size - 1);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (count == 0)
			break;
		size += (size_t)count;
	}
	content[size] = 0;
	*ret_content = take_pointer(&content);
	if (ret_size)
		*ret_size = size;
	return 0;
}

bool proc_status_number(const char *status, const char *key, int base, u64 *ret_value)
{
	size_t length = strlen(key);

	/* A line of its own: the name of the process stands in there too, escaped, so it has no
	 * newline. */
	for (const char *line = status; line; line = strchr(line, '\n')) {
		char *end;

		line += *line == '\n';
		if (strncmp(line, key, length) != 0 || line[length] != ':')
			continue;
		*ret_value = strtoull(line + length + 1, &end, base);
		return end != line + length + 1;
	}
	return false;
}

u32 proc_status_id_in_namespace(const char *status)
{
	const char *line = strstr(status, "\nNSpid:");
	u32 id = 0;
	char *end;

	/* "NSpid: HOST ... INNERMOST" */
	for (line = line ? line + strlen("\nNSpid:") : ""; *line && *line != '\n'; line = end) {
		unsigned long number = strtoul(line, &end, 10);

		if (end == line)
			break;
		id = (u32)number;
	}
	return id;
}

bool proc_status_has_shadow_stack(const char *status)
{
	const char *features = strstr(status, "\nx86_Thread_features:");

	return features && memmem(features + 1, strcspn(features + 1, "\n"), "shstk", 5);
}

int proc_link_read(int directory_fd, const char *path, char **ret_link)
{
	char link[PATH_MAX + 1];
	ssize_t length = readlinkat(directory_fd, path, link, PATH_MAX);

	if (length < 0)
		return -errno;
	link[length] = 0;
	*ret_link = strdup(link);
	return *ret_link ? 0 : -ENOMEM;
}

u64 proc_inode(int directory_fd, const char *path)
{
	struct stat status;

	return fstatat(directory_fd, path, &status, 0) < 0 ? 0 : status.st_ino;
}

void proc_comm(u32 pid, char ret_comm[16])
{
	_cleanup_free_ char *comm = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	snprintf(ret_comm, 16, "?");
	if (!proc_file_read(AT_FDCWD, path, &comm, NULL))
		snprintf(ret_comm, 16, "%.*s", (int)strcspn(comm, "\n"), comm);
}

u64 proc_stat_field(const char *stat, unsigned number)
{
	const char *at = strrchr(stat, ')');
	unsigned field = 2;

	if (number == 1)
		return strtoull(stat, NULL, 10);
	while (at && field < number) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
		field++;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}
