/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function of runtime/cgo that calls Go on a thread that C has made (crosscall_amd64, later crosscall1): assembler of which no table tells,
 * known by its bytes. For elf_go_rows.c. */
#ifndef GPUPROBE_ELF_ELF_GO_CROSSCALL_H
#define GPUPROBE_ELF_ELF_GO_CROSSCALL_H

#include "elf/elf_file.h"
#include "../bpf/unwind_table.h"

struct elf_go_crosscall {
	u64 start, end;	    /* addresses; 0: the file has none */
	u64 pushed, popped; /* behind the last push, and at the first pop */
};

/* Reads all code. -ENOMEM. */
int elf_go_crosscall_find(const struct elf_file *file, struct elf_go_crosscall *ret_crosscall);
/* As elf_go_rows_visit(). */
int elf_go_crosscall_visit(const struct elf_go_crosscall *crosscall,
			   int (*visit)(void *data, u64 address, const struct unwind_rule *rule),
			   void *data);

#endif
