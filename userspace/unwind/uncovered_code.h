/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code of a file that its unwind table says nothing of: where its functions begin their symbols tell, the rules their instructions
 * (code/function_stack.h). Asked for piece by piece, since nearly all of such code is never on a stack.
 */
#ifndef GPUPROBE_UNWIND_UNCOVERED_CODE_H
#define GPUPROBE_UNWIND_UNCOVERED_CODE_H

#include "unwind/unwind_words.h"

/* Zero-initialise. */
struct uncovered_code {
	struct elf_extent *functions; /* sorted */
	size_t count;
	bool looked;
};

/* What is to be put in place of the rules around an address of which there is none: those of its function and of its neighbours in the
 * same pages, or that none can be told (UNWIND_RULE_SEARCHED). New rules are added to rules, and are to be known to who reads the words
 * before they are patched. Reads the symbols at its first call, and the code; may block on the disk. The caller frees the patch's rows.
 * -ENOENT: there is a rule by now. */
int uncovered_code_read(struct uncovered_code *code, const struct elf_file *file,
			const struct unwind_words *words, u64 address, struct unwind_rules *rules,
			struct unwind_patch *ret_patch, struct err *err);
void uncovered_code_free(struct uncovered_code *code);

#endif
