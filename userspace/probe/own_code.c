/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/own_code.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>

struct search {
	u64 address;
	u64 *ret_offset;
};

/* Is the function in a segment of this file? The first file is gpuprobe itself, the only one of interest. */
static int look_at_file(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	u64 address = search->address - info->dlpi_addr;

	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
		    address - segment->p_vaddr >= segment->p_filesz)
			continue;
		*search->ret_offset = address - segment->p_vaddr + segment->p_offset;
		return 1;
	}
	return -ENOENT;
}

int own_code_offset(void (*function)(void), u64 *ret_offset)
{
	struct search search = {(uintptr_t)function, ret_offset};
	int result = dl_iterate_phdr(look_at_file, &search);

	return result < 0 ? result : 0;
}
