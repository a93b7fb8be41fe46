/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_go_functions.h"

#include <stdlib.h>

#include "elf/elf_go_table.h"

static int visit_functions(const struct elf_go_table *table,
			   int (*visit)(void *data, const struct elf_symbol *symbol), void *data)
{
	int result = 0;

	for (u64 i = 0; i < table->count && result == 0; i++) {
		struct elf_extent extent;
		struct elf_symbol symbol;
		u64 offset;

		if (!elf_go_table_extent(table, i, &extent))
			break;
		symbol = (struct elf_symbol){.name = elf_go_table_name(table, i),
					     .address = extent.address,
					     .size_bytes = extent.size_bytes};
		if (symbol.name && !elf_file_offset(table->file, symbol.address, &offset))
			result = visit(data, &symbol);
	}
	return result;
}

int elf_go_functions_visit(const struct elf_file *file,
			   int (*visit)(void *data, const struct elf_symbol *symbol), void *data,
			   char **ret_names)
{
	struct elf_go_table table;
	int result = elf_go_table_read(file, &table);

	if (result)
		return result;
	result = visit_functions(&table, visit, data);
	if (result)
		free(table.bytes);
	else
		*ret_names = (char *)table.bytes;
	return result;
}
