/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/root_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/proc_file.h"
#include "base/cleanup.h"
#include "base/types.h"

#define ENTRIES_MAX 4096
#define DEPTH_MAX   16

int root_file_open(int root_fd, const char *path, int flags)
{
	struct open_how how = {.flags = (u64)flags | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* What the kernel says of a descriptor below ours stands as we see it: without the root's own path. */
int root_file_real_path(int root_fd, const char *path, char *ret_path, size_t size_bytes)
{
	_cleanup_free_ char *link = NULL, *root = NULL;
	_cleanup_close_ int fd = root_file_open(root_fd, path, O_PATH);
	char proc_path[64];
	size_t root_length;
	int result = fd < 0 ? fd : 0;

	snprintf(proc_path, sizeof(proc_path), "/proc/self/fd/%d", fd);
	if (!result)
		result = proc_link_read(AT_FDCWD, proc_path, &link);
	snprintf(proc_path, sizeof(proc_path), "/proc/self/fd/%d", root_fd);
	if (!result)
		result = proc_link_read(AT_FDCWD, proc_path, &root);
	if (result)
		return result;
	root_length = strcmp(root, "/") ? strlen(root) : 0;
	/* Of another mount namespace the kernel gives paths in that one. */
	if (strncmp(link, root, root_length) || link[root_length] != '/')
		root_length = 0;
	if (strlen(link + root_length) >= size_bytes)
		return -ENAMETOOLONG;
	strcpy(ret_path, link + root_length);
	return 0;
}

struct walk {
	int root_fd;
	int (*visit)(void *data, const char *path);
	void *data;
};

static int walk_on(const struct walk *walk, const char *folder, const char *pattern, int depth);

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in the folder that one component of a pattern matches. */
static size_t list_names(const struct walk *walk, const char *folder, const char *component,
			 char **names, size_t names_max)
{
	_cleanup_closedir_ DIR *directory = NULL;
	struct dirent *entry;
	size_t count = 0, seen = 0;
	int fd = root_file_open(walk->root_fd, *folder ? folder : "/", O_RDONLY | O_DIRECTORY);

	directory = fd < 0 ? NULL : fdopendir(fd);
	while (directory && count < names_max && seen++ < ENTRIES_MAX &&
	       (entry = readdir(directory))) {
		if (fnmatch(component, entry->d_name, FNM_PERIOD))
			continue;
		names[count] = strdup(entry->d_name);
		count += names[count] != NULL;
	}
	qsort(names, count, sizeof(*names), compare_names);
	return count;
}

static int walk_names(const struct walk *walk, const char *folder, const char *component,
		      const char *rest, int depth)
{
	char *names[64], path[PATH_MAX];
	size_t count = list_names(walk, folder, component, names, ARRAY_SIZE(names));
	int result = 0;

	for (size_t i = 0; i < count; i++) {
		if (!result &&
		    snprintf(path, sizeof(path), "%s/%s", folder, names[i]) < (int)sizeof(path))
			result = *rest ? walk_on(walk, path, rest, depth + 1)
				       : walk->visit(walk->data, path);
		free(names[i]);
	}
	return result;
}

static int walk_on(const struct walk *walk, const char *folder, const char *pattern, int depth)
{
	char component[NAME_MAX + 1], path[PATH_MAX];
	size_t length;

	pattern += strspn(pattern, "/");
	length = strcspn(pattern, "/");
	if (!length || length > NAME_MAX || depth > DEPTH_MAX)
		return 0;
	memcpy(component, pattern, length);
	component[length] = '\0';
	pattern += length;
	if (strchr(component, '*'))
		return walk_names(walk, folder, component, pattern, depth);
	if (snprintf(path, sizeof(path), "%s/%s", folder, component) >= (int)sizeof(path))
		return 0;
	return *pattern ? walk_on(walk, path, pattern, depth + 1) : walk->visit(walk->data, path);
}

int root_file_match(int root_fd, const char *pattern, int (*visit)(void *data, const char *path),
		    void *data)
{
	struct walk walk = {root_fd, visit, data};

	return walk_on(&walk, "", pattern, 0);
}
