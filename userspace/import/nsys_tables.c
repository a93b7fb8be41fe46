/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of Nsight Systems that are read (nsys_tables.def). */
#include "import/nsys_rows.h"

#include "nsight/nsys_numbers.h"

/* clang-format off */
#define NONE NSYS_NONE

#define TABLE(id, name, kind, rows) static const struct nsys_import_column columns_##id[] = {
#define COLUMN(name, need, source, field, other) {name, NSYS_##need, NSYS_##source, field, other},
#define END(id) };
#include "import/nsys_tables.def"

#define TABLE(id, name, kind, rows) \
	{name, KIND_##kind, rows, columns_##id, ARRAY_SIZE(columns_##id)},
static const struct nsys_import_table tables[] = {
#include "import/nsys_tables.def"
};

#define TABLE(id, name, kind, rows) \
	_Static_assert(ARRAY_SIZE(columns_##id) <= NSYS_COLUMNS_MAX, "more columns than NSYS_COLUMNS_MAX");
#include "import/nsys_tables.def"
/* clang-format on */

const struct nsys_import_table *nsys_import_tables(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(tables);
	return tables;
}
