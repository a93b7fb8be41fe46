/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind table of a file (bpf/unwind_table.h), made of its .eh_frame and, for what that has nothing of, the table of Go's runtime
 * (elf_go_rows.h) and its .debug_frame, which are read in one piece. Untrusted like all of the
 * file: each offset in it is checked, what cannot be understood becomes rows that say so. Of functions that overlap the one that
 * begins later counts, of those that begin together the first of the file, .eh_frame's before Go's and these before others. A gap of up to 15 bytes between two has the rule before
 * it: that is padding.
 *
 * The image of a vdso is a file too, once it is in a memfd.
 */
#ifndef GPUPROBE_ELF_ELF_UNWIND_ROWS_H
#define GPUPROBE_ELF_ELF_UNWIND_ROWS_H

#include "base/sha256.h"
#include "elf/elf_file.h"
#include "../bpf/unwind_table.h"

/* Rule 0 is UNWIND_CFA_NONE. */
struct elf_unwind_rows {
	/* address / UNWIND_PAGE_BYTES of the first page: pages cover all of the file's executable segments, as far as they lie in 4 GB */
	u64 first_page;
	u32 page_count;
	u32 *page_first; /* page_count + 1 of them: index of the first row of each page */
	u32 *rows;
	u32 row_count;
	struct unwind_rule *rules;
	u32 rule_count;
	u32 fde_count;
	u64 code_bytes; /* of the sections with instructions, see elf_file_code() */
	u64 uncovered_bytes; /* of them: with rule 0; pieces of up to 15 bytes are padding and do not count */
	u64 unsupported_bytes; /* of them: UNWIND_CFA_UNSUPPORTED */
};

/* Reads; may block on the disk. A file with none of them gives a table without rules but the first. -ENOMEM, -EIO, -EFBIG: more
 * than 64 M rows. The caller frees. */
int elf_unwind_rows_read(const struct elf_file *file, struct elf_unwind_rows *ret_rows,
			 struct err *err);
void elf_unwind_rows_free(struct elf_unwind_rows *rows);

/* Of all that a table is made of: two files with one digest have the same. -ENOMEM, -EIO. */
int elf_unwind_rows_digest(const struct elf_file *file, u8 ret_digest[SHA256_BYTES]);

/* What the table takes: rows, pages, rules. */
u64 elf_unwind_rows_bytes(const struct elf_unwind_rows *rows);

/* The rule in force at an address of the file; rule 0 outside of it. */
const struct unwind_rule *elf_unwind_rows_find(const struct elf_unwind_rows *rows, u64 address);

#endif
