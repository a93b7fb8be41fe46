/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files as a process sees them, below its root folder: links in them lead nowhere else. Untrusted. */
#ifndef GPUPROBE_PROCESS_ROOT_FILE_H
#define GPUPROBE_PROCESS_ROOT_FILE_H

#include <stddef.h>

/* root_fd: the folder (O_PATH). path: absolute, in it. The descriptor or -errno. May block on the file system. */
int root_file_open(int root_fd, const char *path, int flags);
/* Where path leads to, in the root, without links; 0 or -errno. */
int root_file_real_path(int root_fd, const char *path, char *ret_path, size_t size_bytes);
/*
 * Calls visit with each path that the pattern matches; a '*' stands for any part of a name, and more than a few
 * thousand entries of a folder are not looked at. Sorted within a folder. visit returns 0 or what ends it.
 */
int root_file_match(int root_fd, const char *pattern, int (*visit)(void *data, const char *path), void *data);

#endif
