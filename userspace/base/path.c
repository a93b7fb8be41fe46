/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/path.h"

#include <string.h>

#define DELETED_SUFFIX " (deleted)"

const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

char *path_from_proc(const char *path, const char *root, bool *ret_deleted)
{
	size_t length = strlen(path), suffix = strlen(DELETED_SUFFIX), root_length = strlen(root);
	bool deleted = length > suffix && strcmp(path + length - suffix, DELETED_SUFFIX) == 0;

	if (deleted)
		length -= suffix;
	if (root_length && length > root_length && strncmp(path, root, root_length) == 0 &&
	    path[root_length] == '/') {
		path += root_length;
		length -= root_length;
	}
	if (ret_deleted)
		*ret_deleted = deleted;
	return strndup(path, length);
}
