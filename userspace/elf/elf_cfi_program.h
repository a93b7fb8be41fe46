/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the instructions of call frame information say of the registers (DWARF 5, section 6.4.2). */
#ifndef GPUPROBE_ELF_ELF_CFI_PROGRAM_H
#define GPUPROBE_ELF_ELF_CFI_PROGRAM_H

#include "elf/elf_cfi.h"

enum elf_cfi_how {
	ELF_CFI_UNSAID = 0,
	ELF_CFI_KEPT,
	ELF_CFI_UNDEFINED,
	ELF_CFI_AT_CFA,	   /* at CFA + offset */
	ELF_CFI_AT_RESULT, /* where an expression says */
	ELF_CFI_IS_RESULT, /* what an expression gives */
	ELF_CFI_OTHERWISE, /* in another register, or at a distance of the CFA by itself */
};

/* Where the caller's value of a register is. */
struct elf_cfi_place {
	enum elf_cfi_how how;
	s64 offset;
	struct elf_cfi_block expression;
};

/* What is in force at an address. */
struct elf_cfi_state {
	struct elf_cfi_block cfa_expression; /* of 0 bytes: cfa_register + cfa_offset */
	u64 cfa_register;
	s64 cfa_offset;
	struct elf_cfi_place rbx, rbp, return_address;
	bool failed; /* from here on nothing is known */
};

/* What holds at the start of each of its functions. */
void elf_cie_run(const struct elf_cfi *cfi, const struct elf_cie *cie, struct elf_cfi_state *ret_state);

/* Calls visit with each address of [start, end) from which on another state is in force, and with it; start is the first. One may be
 * told twice: then the later one counts. Stops where visit does not return 0, and returns that. */
int elf_fde_run(const struct elf_cfi *cfi, const struct elf_cie *cie, const struct elf_cfi_state *initial,
		const struct elf_fde *fde,
		int (*visit)(void *data, u64 address, const struct elf_cfi_state *state), void *data);

#endif
