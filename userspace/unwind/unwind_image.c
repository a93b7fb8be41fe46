/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/unwind_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Behind it: page_first, rows, rules. */
struct image_header {
	u64 first_page;
	u64 code_bytes, uncovered_bytes, unsupported_bytes;
	u32 page_count, row_count, rule_count, fde_count;
};

struct image_sizes {
	u64 pages, rows, rules;
};

static struct image_sizes sizes_of(u32 page_count, u32 row_count, u32 rule_count)
{
	return (struct image_sizes){((u64)page_count + 1) * sizeof(u32),
				    (u64)row_count * sizeof(u32),
				    (u64)rule_count * sizeof(struct unwind_rule)};
}

u64 unwind_image_bytes(const struct elf_unwind_rows *rows)
{
	struct image_sizes sizes = sizes_of(rows->page_count, rows->row_count, rows->rule_count);

	return sizeof(struct image_header) + sizes.pages + sizes.rows + sizes.rules;
}

void unwind_image_write(const struct elf_unwind_rows *rows, u8 *ret_bytes)
{
	struct image_sizes sizes = sizes_of(rows->page_count, rows->row_count, rows->rule_count);
	const struct image_header header = {.first_page = rows->first_page,
					    .code_bytes = rows->code_bytes,
					    .uncovered_bytes = rows->uncovered_bytes,
					    .unsupported_bytes = rows->unsupported_bytes,
					    .page_count = rows->page_count,
					    .row_count = rows->row_count,
					    .rule_count = rows->rule_count,
					    .fde_count = rows->fde_count};

	memcpy(ret_bytes, &header, sizeof(header));
	ret_bytes += sizeof(header);
	memcpy(ret_bytes, rows->page_first, sizes.pages);
	memcpy(ret_bytes + sizes.pages, rows->rows, sizes.rows);
	memcpy(ret_bytes + sizes.pages + sizes.rows, rows->rules, sizes.rules);
}

/* ---- reading ---- */

/* Pages one behind the other, each with a row at its start and the others sorted behind it; each with a rule that there is. */
static bool is_sound(const struct elf_unwind_rows *rows)
{
	if (!rows->rule_count || rows->rule_count > UNWIND_RULES_MAX ||
	    rows->rules[0].cfa != UNWIND_CFA_NONE || rows->page_first[0] ||
	    rows->page_first[rows->page_count] != rows->row_count)
		return false;
	for (u32 page = 0; page < rows->page_count; page++) {
		u32 first = rows->page_first[page], end = rows->page_first[page + 1];

		if (end <= first || end > rows->row_count || UNWIND_ROW_ADDRESS(rows->rows[first]))
			return false;
		for (u32 i = first; i < end; i++)
			if (UNWIND_ROW_RULE(rows->rows[i]) >= rows->rule_count ||
			    (i > first && UNWIND_ROW_ADDRESS(rows->rows[i]) <=
						  UNWIND_ROW_ADDRESS(rows->rows[i - 1])))
				return false;
	}
	return true;
}

static int copy(const u8 **at, void *ret_items, size_t bytes)
{
	void **items = ret_items;

	*items = malloc(bytes + 1);
	if (!*items)
		return -ENOMEM;
	memcpy(*items, *at, bytes);
	*at += bytes;
	return 0;
}

int unwind_image_read(const u8 *bytes, u64 size_bytes, struct elf_unwind_rows *ret_rows)
{
	struct elf_unwind_rows rows;
	struct image_header header;
	struct image_sizes sizes;
	int result = -ENOMEM;

	if (size_bytes < sizeof(header))
		return -EINVAL;
	memcpy(&header, bytes, sizeof(header));
	sizes = sizes_of(header.page_count, header.row_count, header.rule_count);
	if (size_bytes != sizeof(header) + sizes.pages + sizes.rows + sizes.rules)
		return -EINVAL;
	rows = (struct elf_unwind_rows){.first_page = header.first_page,
					.page_count = header.page_count,
					.row_count = header.row_count,
					.rule_count = header.rule_count,
					.fde_count = header.fde_count,
					.code_bytes = header.code_bytes,
					.uncovered_bytes = header.uncovered_bytes,
					.unsupported_bytes = header.unsupported_bytes};
	bytes += sizeof(header);
	if (!copy(&bytes, &rows.page_first, sizes.pages) && !copy(&bytes, &rows.rows, sizes.rows) &&
	    !copy(&bytes, &rows.rules, sizes.rules))
		result = is_sound(&rows) ? 0 : -EINVAL;
	if (result)
		elf_unwind_rows_free(&rows);
	else
		*ret_rows = rows;
	return result;
}
