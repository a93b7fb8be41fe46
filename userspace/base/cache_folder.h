/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small files that save work the next time, in a folder that nobody else can write. What is damaged, or anybody else could have
 * written, is as if it were not there.
 */
#ifndef GPUPROBE_BASE_CACHE_FOLDER_H
#define GPUPROBE_BASE_CACHE_FOLDER_H

#include "base/types.h"

#define CACHE_FOLDER_MAX_BYTES (64ULL << 20) /* of all files; beyond, the oldest go */
#define CACHE_FOLDER_MAX_FILES 256
#define CACHE_FILE_MAX_BYTES   (16ULL << 20)

/* Makes it, and the folder it lies in, where they are not there (mode 0700). ret_fd is the caller's. 0; -EPERM: it belongs to
 * somebody else, or others may write it; or another -errno. */
int cache_folder_open(const char *path, int *ret_fd);
/* The caller frees. 0; -ENOENT: there is none that can be believed. */
int cache_folder_read(int folder_fd, const char *name, u8 **ret_bytes, size_t *ret_size);
/* As a whole or not at all, whoever else writes it at the same time. 0 or -errno. */
int cache_folder_write(int folder_fd, const char *name, const u8 *bytes, size_t size);
/* What is too much goes, what was used longest ago first. Best effort. */
void cache_folder_shrink(int folder_fd, u64 max_bytes, size_t max_files);

#endif
