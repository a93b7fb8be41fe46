/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/output_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/folder.h"
#include "base/output.h"

/* 1: it was made; 0: it was there. */
static int make_one(const char *path, struct err *err)
{
	_cleanup_close_ int parent = -1, fd = -1;
	char name[NAME_MAX + 1];
	struct stat status;
	int result = folder_open_parent(path, &parent, name, err);

	if (result < 0)
		return result;
	if (mkdirat(parent, name, 0755) < 0) {
		if (errno != EEXIST)
			return err_errno(err, -errno, "can't make the folder %s", path);
		if (fstatat(parent, name, &status, 0) == 0 && !S_ISDIR(status.st_mode))
			return err_errno(err, -ENOTDIR, "can't make the folder %s", path);
		return 0;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		output_chown_to_user(fd);
	return 1;
}

/* "/", "." and what ends so name no folder that could be made. */
static bool is_there(const char *path)
{
	const char *last = strrchr(path, '/');
	struct stat status;

	last = last ? last + 1 : path;
	return !*last || !strcmp(last, ".") || !strcmp(last, "..") ? stat(path, &status) == 0
								   : false;
}

/* Each part of the path that ends at a slash, then all of it. */
static int make_all(struct output_folder *folder, struct err *err)
{
	char *path = folder->path;
	bool is_made = false;
	int result = 0;

	for (size_t end = 1; result >= 0 && end <= strlen(path); end++) {
		char cut = path[end];

		if (cut != '/' && cut != '\0')
			continue;
		path[end] = '\0';
		result = is_there(path) ? 0 : make_one(path, err);
		is_made |= result == 1;
		if (!is_made && result == 0)
			folder->existing_length = end;
		path[end] = cut;
		if (cut == '\0')
			break;
	}
	return result < 0 ? result : 0;
}

int output_folder_make(struct output_folder *folder, const char *path, struct err *err)
{
	size_t length = strlen(path);
	int result;

	while (length > 1 && path[length - 1] == '/')
		length--;
	*folder = (struct output_folder){.path = strndup(path, length)};
	if (!folder->path)
		return err_errno(err, -ENOMEM, "can't make the folder %s", path);
	result = make_all(folder, err);
	if (result < 0) {
		output_folder_remove(folder);
		output_folder_free(folder);
	}
	return result;
}

void output_folder_remove(struct output_folder *folder)
{
	char *path = folder->path;

	for (size_t end = path ? strlen(path) : 0; end > folder->existing_length; end--) {
		_cleanup_close_ int parent = -1;
		char name[NAME_MAX + 1];

		if (path[end] != '\0' && path[end] != '/')
			continue;
		path[end] = '\0';
		if (folder_open_parent(path, &parent, name, NULL) == 0)
			unlinkat(parent, name, AT_REMOVEDIR);
	}
}

void output_folder_free(struct output_folder *folder)
{
	free(folder->path);
	*folder = (struct output_folder){0};
}

int output_folder_check(const char *path, struct err *err)
{
	struct output_folder folder = {0};
	_cleanup_free_ char *file = NULL;
	int result = output_folder_make(&folder, path, err);

	if (result < 0)
		return result;
	if (asprintf(&file, "%s/check", folder.path) < 0)
		result = err_errno(err, -ENOMEM, "can't write %s", path);
	else
		result = output_check(file, err);
	output_folder_remove(&folder);
	output_folder_free(&folder);
	return result;
}
