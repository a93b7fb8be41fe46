/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables as those read them who walk stacks (bpf/unwind_table.h): the words of each file, with rules that all files of a
 * recording share. One thread at a time.
 */
#ifndef GPUPROBE_UNWIND_UNWIND_WORDS_H
#define GPUPROBE_UNWIND_UNWIND_WORDS_H

#include "base/map.h"
#include "elf/elf_unwind_rows.h"

/* Zero-initialise. */
struct unwind_rules {
	struct unwind_rule *items; /* those of enum unwind_fixed_rule first */
	size_t count, capacity;
	struct map numbers; /* rule -> its number */
};

/* The number of a rule; what is new gets one. UNWIND_RULE_UNSUPPORTED where there is none for it. -ENOMEM. */
int unwind_rules_add(struct unwind_rules *rules, const struct unwind_rule *rule, u32 *ret_number);
void unwind_rules_free(struct unwind_rules *rules);

/* Whole chunks; the caller frees the items. */
struct unwind_words {
	u32 *items;
	size_t count;
	size_t used; /* behind them there is room for rows that replace others */
};

/* The words of a file. Rules that are new are added to rules, behind the others; of what there is no number for
 * (UNWIND_RULES_MAX) the words say that it is unsupported. -ENOMEM. */
int unwind_words_make(const struct elf_unwind_rows *rows, struct unwind_rules *rules,
		      struct unwind_words *ret_words);

/* Other rows for the code of [start, end). */
struct unwind_patch {
	u64 start, end;
	struct unwind_patch_row {
		u64 address; /* that of the first is start */
		u32 rule;
	} *rows;
	size_t count;
};

/* Those who read the words meanwhile see all rows of a page as they were, or as they are then. -ENOSPC: there is no room; some pages may
 * be done. */
int unwind_words_patch(struct unwind_words *words, const struct unwind_patch *patch);

/* The number of the rule at an address of the file. */
u32 unwind_words_rule(const struct unwind_words *words, u64 address);
/* All around an address that has the same rule. */
void unwind_words_stretch(const struct unwind_words *words, u64 address, u64 *ret_start, u64 *ret_end);

#endif
