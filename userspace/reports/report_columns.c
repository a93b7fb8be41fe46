/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables for people: aligned columns, or the same in boxes. */
#include <stdlib.h>

#include "reports/report_printer.h"

/* As nsys does. */
#define CELL_COLUMNS 100
#define CUT	     "…"
#define LINES_MAX    16 /* below a row */

static void append_repeated(struct text *text, char c, size_t count)
{
	while (count--)
		text_append_char(text, c);
}

/* How many stand beside each other: lines stand below a row, but not in boxes. */
static size_t shown_columns(const struct report_printer *printer)
{
	const struct report_table *table = printer->table;
	size_t count = table->column_count;
	bool lines = count && table->columns[count - 1].type == REPORT_LINES;

	return lines && printer->layout == &report_layout_columns ? count - 1 : count;
}

/* Templates have names of thousands of characters. */
static void cut_cell(struct text *cell)
{
	if (cell->failed || text_columns(text_string(cell)) <= CELL_COLUMNS)
		return;
	cell->length = text_skip_columns(cell->data, CELL_COLUMNS - 1);
	text_append(cell, CUT);
}

/* Into printer->cell. */
static const char *make_cell(struct report_printer *printer, const struct report_column *column,
			     const struct report_cell *cell)
{
	struct text raw _cleanup_text_ = {0};

	text_clear(&printer->cell);
	if (!report_column_is_text(column) || cell->empty) {
		report_append_value(printer, column, cell, &printer->cell);
		return text_string(&printer->cell);
	}
	report_append_value(printer, column, cell, &raw);
	text_append_terminal(&printer->cell, text_string(&raw), raw.length);
	printer->cell.failed |= raw.failed;
	cut_cell(&printer->cell);
	return text_string(&printer->cell);
}

static const char *make_heading(struct report_printer *printer, const struct report_column *column)
{
	text_clear(&printer->cell);
	report_append_heading(printer, column, &printer->cell);
	return text_string(&printer->cell);
}

static void measure(struct report_printer *printer)
{
	const struct report_table *table = printer->table;

	printer->widths = calloc(table->column_count + 1, sizeof(*printer->widths));
	if (!printer->widths) {
		printer->text.failed = true;
		return;
	}
	for (size_t j = 0; j < shown_columns(printer); j++) {
		size_t widest = text_columns(make_heading(printer, &table->columns[j]));

		for (size_t i = 0; i < table->row_count; i++) {
			size_t width = text_columns(
				make_cell(printer, &table->columns[j], &table->rows[i].cells[j]));

			if (printer->style->max_rows && i >= printer->style->max_rows)
				break;
			widest = width > widest ? width : widest;
		}
		printer->widths[j] = widest;
	}
}

void report_append_aligned(struct text *text, const char *string, size_t width,
			   enum report_alignment alignment)
{
	size_t columns = text_columns(string), padding = width > columns ? width - columns : 0;
	size_t before = alignment == REPORT_LEFT    ? 0
			: alignment == REPORT_RIGHT ? padding
						    : padding / 2;

	append_repeated(text, ' ', before);
	text_append(text, string);
	append_repeated(text, ' ', padding - before);
}

static enum report_alignment alignment_of(const struct report_column *column)
{
	return report_column_is_text(column) ? REPORT_LEFT : REPORT_RIGHT;
}

/* Behind the last column nothing is seen of blanks. */
static void end_line(struct report_printer *printer)
{
	struct text *text = &printer->text;

	while (!text->failed && text->length && text->data[text->length - 1] == ' ')
		text->data[--text->length] = '\0';
	text_append_char(text, '\n');
}

static void append_marks(struct report_printer *printer, const struct report_row *row)
{
	text_append(&printer->text, row->note ? " *" : "");
	text_append(&printer->text, row->marked && printer->table->marked_note ? " +" : "");
}

/* ---- columns ---- */

static void begin_columns(struct report_printer *printer)
{
	const struct report_table *table = printer->table;
	size_t count = shown_columns(printer);

	measure(printer);
	for (size_t j = 0; j < count && printer->widths; j++) {
		text_append(&printer->text, j ? "  " : " ");
		report_append_aligned(&printer->text, make_heading(printer, &table->columns[j]),
				      printer->widths[j], REPORT_CENTRE);
	}
	end_line(printer);
	for (size_t j = 0; j < count && printer->widths; j++) {
		text_append(&printer->text, j ? "  " : " ");
		append_repeated(&printer->text, '-', printer->widths[j]);
	}
	end_line(printer);
}

/* What stands in the last column, if that has lines. */
static void append_lines(struct report_printer *printer, const struct report_row *row)
{
	const struct report_table *table = printer->table;
	const struct report_cell *cell = &row->cells[table->column_count - 1];
	const char *line = cell->text;
	size_t count = 0, more = 0;

	if (shown_columns(printer) == table->column_count || cell->empty)
		return;
	for (const char *next; *line; line = next) {
		size_t length = strcspn(line, "\n");

		next = line + length + (line[length] == '\n');
		if (count++ >= LINES_MAX) {
			more++;
			continue;
		}
		append_repeated(&printer->text, ' ', 12);
		text_append_terminal(&printer->text, line, length);
		text_append_char(&printer->text, '\n');
	}
	if (more)
		text_appendf(&printer->text, "            and %zu more\n", more);
}

static void append_column_row(struct report_printer *printer, const struct report_row *row)
{
	const struct report_column *columns = printer->table->columns;

	for (size_t j = 0; j < shown_columns(printer) && printer->widths; j++) {
		text_append(&printer->text, j ? "  " : " ");
		report_append_aligned(&printer->text,
				      make_cell(printer, &columns[j], &row->cells[j]),
				      printer->widths[j], alignment_of(&columns[j]));
	}
	if (row->note || row->marked) {
		end_line(printer);
		printer->text.length--;
		append_marks(printer, row);
	}
	end_line(printer);
	append_lines(printer, row);
}

static void end_columns(struct report_printer *printer)
{
}

const struct report_layout report_layout_columns = {begin_columns, append_column_row, end_columns,
						    true};

/* ---- boxes ---- */

static void append_rule(struct report_printer *printer)
{
	for (size_t j = 0; j < shown_columns(printer) && printer->widths; j++) {
		text_append_char(&printer->text, '+');
		append_repeated(&printer->text, '-', printer->widths[j] + 2);
	}
	text_append(&printer->text, "+\n");
}

static void begin_table(struct report_printer *printer)
{
	const struct report_column *columns = printer->table->columns;

	measure(printer);
	append_rule(printer);
	for (size_t j = 0; j < shown_columns(printer) && printer->widths; j++) {
		text_append(&printer->text, "| ");
		report_append_aligned(&printer->text, make_heading(printer, &columns[j]),
				      printer->widths[j], REPORT_CENTRE);
		text_append_char(&printer->text, ' ');
	}
	text_append(&printer->text, "|\n");
	append_rule(printer);
}

static void append_table_row(struct report_printer *printer, const struct report_row *row)
{
	const struct report_column *columns = printer->table->columns;

	for (size_t j = 0; j < shown_columns(printer) && printer->widths; j++) {
		text_append(&printer->text, "| ");
		report_append_aligned(&printer->text,
				      make_cell(printer, &columns[j], &row->cells[j]),
				      printer->widths[j], alignment_of(&columns[j]));
		text_append_char(&printer->text, ' ');
	}
	text_append_char(&printer->text, '|');
	append_marks(printer, row);
	text_append_char(&printer->text, '\n');
}

const struct report_layout report_layout_table = {begin_table, append_table_row, append_rule, true};
