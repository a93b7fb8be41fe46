/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out what refers to the code of a file, by reading all of its code and its tables. */
#ifndef GPUPROBE_CODE_CODE_SCAN_H
#define GPUPROBE_CODE_CODE_SCAN_H

#include "code/code_references.h"
#include "elf/elf_file.h"

/* symbols: all functions of the file that are known. Reads each byte of code once and, behind each address that code
 * takes, as far as there is a jump table: about a second for a GB of code in the page cache. 0, or -errno and no
 * references. */
int code_scan(const struct elf_file *file, const struct elf_symbols *symbols,
	      struct code_references **ret_references);

#endif
