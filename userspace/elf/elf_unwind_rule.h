/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what call frame information says of an address to a rule of the unwind table. For elf_unwind_rows.c. */
#ifndef GPUPROBE_ELF_ELF_UNWIND_RULE_H
#define GPUPROBE_ELF_ELF_UNWIND_RULE_H

#include "elf/elf_cfi_program.h"
#include "../bpf/unwind_table.h"

/* signal_frame: the CIE says that the caller was interrupted. All bytes of *ret_rule are set: equal rules have equal bytes. */
void elf_unwind_rule(const struct elf_cfi *cfi, const struct elf_cfi_state *state, bool signal_frame,
		     struct unwind_rule *ret_rule);

#endif
