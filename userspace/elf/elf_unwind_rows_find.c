/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "elf/elf_unwind_rows.h"

void elf_unwind_rows_free(struct elf_unwind_rows *rows)
{
	free(rows->page_first);
	free(rows->rows);
	free(rows->rules);
	*rows = (struct elf_unwind_rows){0};
}

u64 elf_unwind_rows_bytes(const struct elf_unwind_rows *rows)
{
	return (u64)rows->row_count * sizeof(*rows->rows) +
	       ((u64)rows->page_count + 1) * sizeof(*rows->page_first) +
	       (u64)rows->rule_count * sizeof(*rows->rules);
}

const struct unwind_rule *elf_unwind_rows_find(const struct elf_unwind_rows *rows, u64 address)
{
	u64 page = address / UNWIND_PAGE_BYTES - rows->first_page;
	u32 low, high;

	if (address / UNWIND_PAGE_BYTES < rows->first_page || page >= rows->page_count)
		return &rows->rules[0];
	/* The first one begins with the page: the last that begins at or before the address is sought. */
	low = rows->page_first[page];
	high = rows->page_first[page + 1];
	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (UNWIND_ROW_ADDRESS(rows->rows[middle]) <= UNWIND_ROW_ADDRESS(address))
			low = middle;
		else
			high = middle;
	}
	return &rows->rules[UNWIND_ROW_RULE(rows->rows[low])];
}
