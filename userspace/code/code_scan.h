/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out what refers to the code of a file, by reading all of its code and its tables. */
#ifndef GPUPROBE_CODE_CODE_SCAN_H
#define GPUPROBE_CODE_CODE_SCAN_H

#include "code/code_references.h"
#include "elf/elf_file.h"

/* Some of the addresses of a file. */
struct code_span {
	u64 first, last;
};

/*
 * symbols: all functions of the file that are known. keep: the code of which it is asked; NULL: all. Reads each byte of code
 * once and, behind each address that code takes, as far as there is a jump table; large files with as many threads as there are
 * processors: about half a second of CPU time for a GB of code in the page cache. 0, or -errno and no references.
 */
int code_scan(const struct elf_file *file, const struct elf_symbols *symbols,
	      const struct code_span *keep, size_t keep_count,
	      struct code_references **ret_references);

#endif
