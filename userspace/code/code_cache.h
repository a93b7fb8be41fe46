/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What refers to the code of files, kept from one run to the next: what code_scan() finds out, without going through all of the
 * code again. Nothing is taken on trust that somebody but root could have written:
 * - A file that only root can write (owner, mode, a file system of this kernel that is not mounted nosuid) is the same one
 *   by device, inode, size, time of change and build id.
 * - Any other is by the SHA-256 of its code, which is read for that; what its data say is read again. Its build id is whatever
 *   it claims.
 * - Else it is gone through.
 * The bytes of the functions themselves are never kept: they are read and decoded each time, and those of a file of root's are
 * compared with those that were there, by their SHA-256.
 */
#ifndef GPUPROBE_CODE_CODE_CACHE_H
#define GPUPROBE_CODE_CODE_CACHE_H

#include "code/code_scan.h"

#define CODE_CACHE_FOLDER "/var/cache/gpuprobe/code"

enum code_cache_result { CODE_CACHE_UNUSED, CODE_CACHE_STORED, CODE_CACHE_FOUND };

/* As code_scan(), of the file fd, with the folder of base/cache_folder.h. ret_result (may be NULL): what became of it. */
int code_cache_scan(int folder_fd, int fd, const struct elf_file *file,
		    const struct elf_symbols *symbols, const struct code_span *keep,
		    size_t keep_count, struct code_references **ret_references,
		    enum code_cache_result *ret_result);

#endif
