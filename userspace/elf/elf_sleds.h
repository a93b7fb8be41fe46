/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places in a file's code that are there to be overwritten by the process itself while it runs: sleds of LLVM XRay
 * (xray_instr_map), entries of -fpatchable-function-entry (__patchable_function_entries), calls of __fentry__ that -mrecord-mcount
 * lists (__mcount_loc).
 */
#ifndef GPUPROBE_ELF_ELF_SLEDS_H
#define GPUPROBE_ELF_ELF_SLEDS_H

#include "elf/elf_file.h"

struct elf_sleds {
	u64 *addresses; /* in the file; sorted, perhaps some twice */
	size_t count;
};

/* Reads the file's sections, and where there is one of these its relocations. 0, also where it has none, or -ENOMEM. */
int elf_sleds_load(const struct elf_file *file, struct elf_sleds *ret_sleds);
/* Is there one in these bytes? */
bool elf_sleds_has(const struct elf_sleds *sleds, u64 address, u64 size_bytes);
void elf_sleds_free(struct elf_sleds *sleds);

#endif
