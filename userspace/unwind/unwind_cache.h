/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of large files, kept from one run to the next: a process with PyTorch has 50 MB of .eh_frame. Which file a table is of
 * elf/elf_identity.h says; that of a file which others can write too is known by the SHA-256 of all that the table is made of.
 * What is kept is checked like a table that was just made: a damaged one is made again.
 */
#ifndef GPUPROBE_UNWIND_UNWIND_CACHE_H
#define GPUPROBE_UNWIND_UNWIND_CACHE_H

#include "elf/elf_unwind_rows.h"
#include "unwind/row_reader.h"

#define UNWIND_CACHE_FOLDER "/var/cache/gpuprobe/unwind"
/* Smaller files are read in the time that a look into the folder takes. */
#define UNWIND_CACHE_LEAST_BYTES (1ULL << 20)

enum unwind_cache_result { UNWIND_CACHE_UNUSED, UNWIND_CACHE_STORED, UNWIND_CACHE_FOUND };

/* As row_reader_rows(), of the file that is open as fd, with the folder of base/cache_folder.h (-1: none). ret_result (may be
 * NULL): what became of it. */
int unwind_cache_rows(int folder_fd, struct row_reader *reader, int fd, const struct elf_file *file,
		      const char *path, struct elf_unwind_rows *ret_rows,
		      enum unwind_cache_result *ret_result, struct err *err);

#endif
