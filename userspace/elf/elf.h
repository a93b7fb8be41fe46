/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of elf/ share among themselves. */
#ifndef GPUPROBE_ELF_ELF_H
#define GPUPROBE_ELF_ELF_H

#include <gelf.h>

#include "elf/elf_file.h"

/* No section or decompressed table is read beyond this: a sparse file may claim any size. */
#define ELF_SECTION_MAX_BYTES (1ULL << 30)

struct elf_file {
	int fd;
	char *path;
	u64 size_bytes;
	Elf *elf;
	struct elf_segment *executable; /* PT_LOADs with PF_X */
	size_t executable_count;
	struct elf_segment *loaded; /* all PT_LOADs, for addresses of data */
	size_t loaded_count;
	int debug_fd; /* of elf_file_set_debug_file(); -1: none */
};

/* The first section of this name (name NULL: any) and type (SHT_NULL: any) that is within the file. */
Elf_Scn *elf_section_find(const struct elf_file *file, const char *name, u32 type,
			  GElf_Shdr *ret_header);
/* Its content; NULL when it has none, is compressed or larger than ELF_SECTION_MAX_BYTES. */
Elf_Data *elf_section_data(const struct elf_file *file, Elf_Scn *section);
/* Value of the first dynamic entry with this tag; false when there is none. */
bool elf_dynamic_find(const struct elf_file *file, s64 tag, u64 *ret_value);

/* Calls visit with each place in the file that a relocation makes a pointer in, and what it points to then. Damaged tables are
 * read as far as they go. */
void elf_relocated_pointers(const struct elf_file *file, void (*visit)(void *data, u64 slot, u64 address), void *data);

/* Opens the separate debug file, read-only; -ENOENT when none is found that fits. The caller closes. */
int elf_debug_file_open(const struct elf_file *file, const char *root_path, int *ret_fd);
/* Unpacks .gnu_debugdata into a memfd that the caller closes; -ENOENT when there is none. */
int elf_debugdata_open(const struct elf_file *file, int *ret_fd);

#endif
