/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cuda/driver_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "process/proc_file.h"
#include "process/root_file.h"

#define DRIVER_NAME "libcuda.so.1"
#define SEARCH_PATH "LD_LIBRARY_PATH="

/* clang-format off */
static const char *const folders[] = {
	"/usr/lib/x86_64-linux-gnu",		    /* Debian, Ubuntu; where container runtimes mount it there */
	"/usr/lib64",				    /* Fedora, RHEL, SUSE */
	"/usr/lib",				    /* Arch */
	"/usr/lib/x86_64-linux-gnu/nvidia/current", /* Debian's alternatives */
	"/usr/lib64/nvidia",
	"/usr/local/nvidia/lib64",		    /* GKE and other volumes of a driver */
	"/usr/local/cuda/compat",		    /* a driver for newer CUDA, of NVIDIA's images */
	"/usr/lib/wsl/lib",
	"/run/opengl-driver/lib",		    /* NixOS */
};
/* clang-format on */

static int add(struct driver_files *files, int root_fd, const char *folder, size_t length)
{
	char path[PATH_MAX], real[PATH_MAX];

	if (files->count == DRIVER_FILES_MAX || folder[0] != '/' ||
	    snprintf(path, sizeof(path), "%.*s/" DRIVER_NAME, (int)length, folder) >=
		    (int)sizeof(path) ||
	    root_file_real_path(root_fd, path, real, sizeof(real)))
		return 0;
	for (size_t i = 0; i < files->count; i++)
		if (!strcmp(files->paths[i], real))
			return 0;
	files->paths[files->count] = strdup(real);
	if (!files->paths[files->count])
		return -ENOMEM;
	files->count++;
	return 0;
}

/* NULL: it has none. */
static const char *search_path(const char *environment, size_t size)
{
	const size_t length = strlen(SEARCH_PATH);

	for (const char *entry = environment; entry < environment + size;
	     entry += strlen(entry) + 1)
		if (!strncmp(entry, SEARCH_PATH, length))
			return entry + length;
	return NULL;
}

int driver_files_below(int root_fd, const char *environment, size_t size,
		       struct driver_files *ret_files)
{
	const char *at = search_path(environment, size);
	struct driver_files files = {0};
	int result = 0;

	while (at && *at && !result) {
		size_t length = strcspn(at, ":;");

		result = add(&files, root_fd, at, length);
		at += length + (at[length] != 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(folders) && !result; i++)
		result = add(&files, root_fd, folders[i], strlen(folders[i]));
	if (result)
		driver_files_free(&files);
	*ret_files = files;
	return result;
}

int driver_files_find(const struct target *target, struct driver_files *ret_files)
{
	_cleanup_close_ int root_fd =
		openat(target->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *environment = NULL;
	size_t size = 0;

	*ret_files = (struct driver_files){0};
	if (root_fd < 0)
		return 0;
	if (proc_file_read(target->proc_fd, "environ", &environment, &size))
		size = 0;
	return driver_files_below(root_fd, environment, size, ret_files);
}

void driver_files_free(struct driver_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->paths[i]);
	*files = (struct driver_files){0};
}
