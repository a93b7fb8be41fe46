/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/elf_go_rows.h"

#define CODE_BYTES (256 << 10)

struct search {
	u64 address;
	struct unwind_rule rule;
	bool found;
};

static int search_rule(void *data, u64 address, const struct unwind_rule *rule)
{
	struct search *search = data;

	if (address <= search->address) {
		search->rule = *rule;
		search->found = true;
	}
	return 0;
}

bool elf_go_rows_find(const struct elf_go_rows *rows, u64 address, struct unwind_rule *ret_rule)
{
	const struct elf_go_crosscall *crosscall = &rows->crosscall;
	struct search search = {.address = address};
	u64 start, end, index;

	/* Most files are none of Go's. */
	if (!elf_go_rows_count(rows))
		return false;
	index = address - crosscall->start < crosscall->end - crosscall->start
			? rows->table.count
			: elf_go_table_find(&rows->table, address);
	/* Nothing that begins a byte before itself is asked for there: it is no stack that is followed on. */
	if (!elf_go_rows_extent(rows, index, &start, &end) || address < start || address >= end)
		return false;
	elf_go_rows_visit(rows, index, search_rule, &search);
	*ret_rule = search.rule;
	return search.found;
}

int elf_go_rows_digest(const struct elf_file *file, struct sha256 *sha)
{
	_cleanup_free_ u8 *bytes = malloc(CODE_BYTES);
	const struct elf_segment *segments;
	size_t count = elf_file_segments(file, true, &segments);
	struct elf_go_table table;
	int result = bytes ? elf_go_table_read(file, &table) : -ENOMEM;

	if (result)
		return result == -ENOENT ? 0 : result;
	sha256_add(sha, table.bytes, table.size);
	sha256_add(sha, &table.text, sizeof(table.text));
	for (size_t i = 0; i < count; i++) {
		u64 left = segments[i].file_size_bytes, at = segments[i].offset;
		ssize_t size = 1;

		for (; left && size > 0; left -= (u64)size, at += (u64)size) {
			size = elf_file_read(file, at, bytes,
					     left < CODE_BYTES ? left : CODE_BYTES);
			if (size > 0)
				sha256_add(sha, bytes, (size_t)size);
		}
	}
	free(table.bytes);
	return 0;
}
