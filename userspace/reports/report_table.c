/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/report_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reports/statistics.h"

#define ROWS_STREAMED 512 /* kept at once; of the first ones the widths of columns are taken */

/* Those from first on. */
static void free_rows(struct report_table *table, size_t first)
{
	for (size_t i = first; i < table->row_count; i++) {
		for (size_t j = 0; j < table->column_count; j++)
			free(table->rows[i].cells[j].text);
		free(table->rows[i].cells);
		free(table->rows[i].note);
	}
	if (first < table->row_count)
		table->row_count = first;
}

struct report_row *report_table_add(struct report_table *table)
{
	struct report_row *row;

	if (table->streamed && table->print && table->row_count == ROWS_STREAMED) {
		if (table->print(table) < 0)
			return NULL;
		free_rows(table, 0);
	}
	if (array_reserve(&table->rows, &table->row_capacity, table->row_count + 1) < 0)
		return NULL;
	row = &table->rows[table->row_count];
	row->note = NULL;
	row->marked = false;
	row->recorded_ns = 0;
	row->cells = calloc(table->column_count, sizeof(*row->cells));
	if (!row->cells)
		return NULL;
	for (size_t i = 0; i < table->column_count; i++)
		row->cells[i].empty = true;
	table->row_count++;
	return row;
}

void report_table_keep(struct report_table *table,
		       int (*compare)(const void *row, const void *other), size_t count)
{
	if (table->row_count)
		qsort(table->rows, table->row_count, sizeof(*table->rows), compare);
	free_rows(table, count);
}

void report_cell_count(struct report_cell *cell, u64 count)
{
	cell->empty = false;
	cell->count = count;
}

void report_cell_decimal(struct report_cell *cell, double decimal)
{
	cell->empty = false;
	cell->decimal = decimal;
}

void report_cells_figures(struct report_cell *cells, const struct statistics_row *figures)
{
	report_cell_decimal(&cells[0], figures->average_ns);
	report_cell_decimal(&cells[1], figures->median_ns);
	report_cell_count(&cells[2], figures->minimum_ns);
	report_cell_count(&cells[3], figures->maximum_ns);
	report_cell_decimal(&cells[4], figures->deviation_ns);
}

int report_cell_text(struct report_cell *cell, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(cell->text);
	cell->text = copy;
	cell->empty = false;
	return 0;
}

void report_table_free(struct report_table *table)
{
	free_rows(table, 0);
	free(table->rows);
	free(table->brief);
	free(table->marked_note);
	free(table->marked_brief);
	free(table->made_columns);
	table->made_columns = NULL;
	table->brief = table->marked_note = table->marked_brief = NULL;
	table->rows = NULL;
	table->row_capacity = 0;
}
