/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table that the runtime of a Go program has of its functions (.gopclntab): where they are, how they are called, and how deep the stack
 * is at each of their instructions. Untrusted: what lies outside of the table reads as not there.
 */
#ifndef GPUPROBE_ELF_ELF_GO_TABLE_H
#define GPUPROBE_ELF_ELF_GO_TABLE_H

#include "elf/elf_file.h"

struct elf_go_layout;

struct elf_go_table {
	const struct elf_file *file;
	const struct elf_go_layout *layout;
	u64 address; /* where it is loaded */
	u8 *bytes;   /* size of them, and a 0 behind */
	u64 size;
	u64 names, steps, functions, count; /* places in bytes, and how many functions */
	u64 text;			    /* what the addresses of functions count from */
};

/* 0, -ENOENT (no such table, or of a layout that is not known) or -ENOMEM. file stays the caller's and must stay open; the caller frees
 * bytes. Reads; may block on the disk. */
int elf_go_table_read(const struct elf_file *file, struct elf_go_table *ret_table);

/* Of a function by its number; up to where the next one begins. False: it is not in the table. */
bool elf_go_table_extent(const struct elf_go_table *table, u64 index,
			 struct elf_extent *ret_extent);
/* NULL: it has none within the table. */
const char *elf_go_table_name(const struct elf_go_table *table, u64 index);

/* What the runtime knows of a function, from Go 1.17 on. */
#define ELF_GO_WRITES_STACK_POINTER 2 /* SPWRITE: in a way that the table does not tell */
u8 elf_go_table_flags(const struct elf_go_table *table, u64 index);

/* The last function that begins at or before an address; 0 where none does. */
u64 elf_go_table_find(const struct elf_go_table *table, u64 address);

/* Where the source of an instruction stands. */
struct elf_go_line {
	const char *file; /* of the table */
	u32 line;
};

/* False: the table does not tell (that of Go 1.2 to 1.15), or the instruction is of a function that was inlined into the one it is in, whose name
 * then is not known. */
bool elf_go_table_line(const struct elf_go_table *table, u64 address, struct elf_go_line *ret_line);

/* A stretch of code with one depth of the stack: what was pushed above the return address (pcsp). */
struct elf_go_steps {
	const struct elf_go_table *table;
	u64 place, limit;
	u64 start, end; /* addresses of the stretch */
	s32 depth_bytes;
	bool first;
};

/* False: the table does not tell of this function. */
bool elf_go_steps_begin(const struct elf_go_table *table, u64 index,
			struct elf_go_steps *ret_steps);
/* The next stretch, right behind the one before and never empty. False: there are no more. */
bool elf_go_steps_next(struct elf_go_steps *steps);

#endif
