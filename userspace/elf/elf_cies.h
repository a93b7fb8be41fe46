/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef GPUPROBE_ELF_ELF_CIES_H
#define GPUPROBE_ELF_ELF_CIES_H

#include "elf/elf_cfi_program.h"

/* The CIEs of a file, in the order of their offsets, each before those that point to it. Zero-initialise; the caller frees items. */
struct elf_cies {
	struct elf_cie_state {
		struct elf_cie cie;
		struct elf_cfi_state initial;
	} *items;
	size_t count, capacity;
};

/* The next one; one that can't be parsed is left out. 0 or -ENOMEM. */
int elf_cies_add(struct elf_cies *cies, const struct elf_cfi *cfi, const struct elf_cfi_entry *entry);
/* NULL: none that was added begins there. It stays there until the next is added. */
const struct elf_cie_state *elf_cies_find(const struct elf_cies *cies, u32 offset);

#endif
