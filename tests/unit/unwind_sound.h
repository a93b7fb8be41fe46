/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What elf_unwind_rows.h promises of every table, whatever the file is. For unit tests and fuzzers. */
#ifndef GPUPROBE_TESTS_UNWIND_SOUND_H
#define GPUPROBE_TESTS_UNWIND_SOUND_H

#include "elf/elf_unwind_rows.h"

static inline bool page_is_sound(const struct elf_unwind_rows *rows, u32 page)
{
	u32 first = rows->page_first[page], end = rows->page_first[page + 1];

	if (first >= end || end > rows->row_count || UNWIND_ROW_ADDRESS(rows->rows[first]))
		return false;
	for (u32 i = first; i < end; i++) {
		if (UNWIND_ROW_RULE(rows->rows[i]) >= rows->rule_count)
			return false;
		if (i > first && (UNWIND_ROW_ADDRESS(rows->rows[i]) <= UNWIND_ROW_ADDRESS(rows->rows[i - 1]) ||
				  UNWIND_ROW_RULE(rows->rows[i]) == UNWIND_ROW_RULE(rows->rows[i - 1])))
			return false;
	}
	return true;
}

static inline bool rows_are_sound(const struct elf_unwind_rows *rows)
{
	if (!rows->rule_count || rows->rule_count > UNWIND_RULES_MAX || rows->rules[0].cfa != UNWIND_CFA_NONE ||
	    rows->page_first[0] || rows->page_first[rows->page_count] != rows->row_count ||
	    rows->uncovered_bytes + rows->unsupported_bytes > rows->code_bytes)
		return false;
	for (u32 page = 0; page < rows->page_count; page++)
		if (!page_is_sound(rows, page))
			return false;
	return true;
}

#endif
