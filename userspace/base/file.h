/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading and writing as many bytes as are asked for, also where a signal comes in between; opening what somebody else names. */
#ifndef GPUPROBE_BASE_FILE_H
#define GPUPROBE_BASE_FILE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/types.h"

/* All of it, or -errno: some of it may have been written then. */
int file_write(int fd, const void *data, size_t size_bytes);
int file_write_at(int fd, const void *data, size_t size_bytes, u64 offset);
/* How many bytes were read, fewer only where the file ends; or -errno. */
ssize_t file_read_at(int fd, void *ret_data, size_t size_bytes, u64 offset);

/* A plain file, for reading; it is looked at before it is opened: opening a device or a FIFO already does something. The caller's
 * descriptor; -ENOEXEC: it is none; or another -errno. */
int file_open_plain(int folder_fd, const char *path, struct stat *ret_status);

#endif
