/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rules of the functions of a Go program, by the table of its runtime (elf_go_table.h): for elf_unwind_rows.c. That table tells where
 * the return address is; where the caller's rbp is the instructions at the start of a function tell. A few functions of the runtime change
 * stacks, by their names: what leads on from these, or that nothing does, is known of their code.
 */
#ifndef GPUPROBE_ELF_ELF_GO_ROWS_H
#define GPUPROBE_ELF_ELF_GO_ROWS_H

#include "base/sha256.h"
#include "elf/elf_go_crosscall.h"
#include "elf/elf_go_table.h"
#include "../bpf/unwind_table.h"

/* Zero-initialise. */
struct elf_go_rows {
	struct elf_go_table table;
	struct elf_window *code;
	struct elf_go_crosscall crosscall;
};

/* A file without a table gives one of no functions. -ENOMEM. file stays the caller's and must stay open. */
int elf_go_rows_open(const struct elf_file *file, struct elf_go_rows *ret_rows);
void elf_go_rows_close(struct elf_go_rows *rows);

/* How many functions there may be; the last is the one that calls Go on threads that C made. */
u64 elf_go_rows_count(const struct elf_go_rows *rows);
/* Where the rules of a function begin and end: of some a byte before it, since what returns to their first instruction was not called from
 * the one before. False: there are none. */
bool elf_go_rows_extent(const struct elf_go_rows *rows, u64 index, u64 *ret_start, u64 *ret_end);

/* Calls visit with each address from which on a rule is in force, in order. Returns the first result of visit that is not 0. */
int elf_go_rows_visit(const struct elf_go_rows *rows, u64 index,
		      int (*visit)(void *data, u64 address, const struct unwind_rule *rule),
		      void *data);

/* The rule in force at an address. False: there is none. */
bool elf_go_rows_find(const struct elf_go_rows *rows, u64 address, struct unwind_rule *ret_rule);

/* Adds all that rules are made of. -ENOMEM. */
int elf_go_rows_digest(const struct elf_file *file, struct sha256 *sha);

#endif
