/* Tables as aligned columns for people, as CSV and as JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "view/report_table.h"

#define NOTES_MAX 5
/* As nsys does. */
#define NAME_COLUMNS 100
#define CUT	     "..."
#define LINES_MAX    16 /* below a row */

/* Long enough for every double in %.Nf with separators. */
#define NUMBER_SIZE 512

/* Digits and perhaps a point: 1234567.8 -> 1,234,567.8 */
static void append_separated(struct text *text, const char *number)
{
	size_t digits = strspn(number, "0123456789");

	for (size_t i = 0; i < digits; i++) {
		if (i && (digits - i) % 3 == 0)
			text_append_char(text, ',');
		text_append_char(text, number[i]);
	}
	text_append(text, number + digits);
}

/* The shortest number that reads back as the same. */
static void append_exact(struct text *text, double value)
{
	char number[64];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(number, sizeof(number), "%.*g", digits, value);
		if (strtod(number, NULL) == value)
			break;
	}
	text_append(text, number);
}

static bool is_text(const struct report_column *column)
{
	return column->type == REPORT_TEXT || column->type == REPORT_NAME ||
	       column->type == REPORT_LINES;
}

/* Templates have names of thousands of characters. */
static void append_name(struct text *text, const char *name)
{
	size_t start = text->length, columns = 0, i = start;

	text_append_terminal(text, name, strlen(name));
	if (text->failed || text_columns(text->data + start) <= NAME_COLUMNS)
		return;
	for (; text->data[i]; i++) {
		columns += ((unsigned char)text->data[i] & 0xc0) != 0x80;
		if (columns > NAME_COLUMNS - strlen(CUT))
			break;
	}
	text->length = i;
	text_append(text, CUT);
}

static void append_for_people(struct text *text, const struct report_column *column,
			      const struct report_cell *cell)
{
	char number[NUMBER_SIZE];

	if (cell->empty)
		return;
	if (column->type == REPORT_NAME) {
		append_name(text, cell->text);
		return;
	}
	if (column->type == REPORT_TEXT) {
		text_append_terminal(text, cell->text, strlen(cell->text));
		return;
	}
	if (column->type == REPORT_NUMBER) {
		text_appendf(text, "%llu", (unsigned long long)cell->count);
		return;
	}
	if (column->type == REPORT_COUNT)
		snprintf(number, sizeof(number), "%llu", (unsigned long long)cell->count);
	else
		snprintf(number, sizeof(number), "%.*f", column->decimals, cell->decimal);
	append_separated(text, number);
}

static void append_for_programs(struct text *text, const struct report_column *column,
				const struct report_cell *cell)
{
	if (column->type != REPORT_DECIMAL)
		text_appendf(text, "%llu", (unsigned long long)cell->count);
	else
		append_exact(text, cell->decimal);
}

/* ---- columns ---- */

static void append_spaces(struct text *text, size_t count)
{
	while (count--)
		text_append_char(text, ' ');
}

/* How many stand beside each other. */
static size_t shown_columns(const struct report_table *table)
{
	size_t count = table->column_count;

	return count && table->columns[count - 1].type == REPORT_LINES ? count - 1 : count;
}

/* What stands in the last column, if that has lines. */
static void append_lines(struct text *text, const struct report_table *table,
			 const struct report_row *row)
{
	const struct report_cell *cell = &row->cells[table->column_count - 1];
	const char *line = cell->text;
	size_t count = 0, more = 0;

	if (shown_columns(table) == table->column_count || cell->empty)
		return;
	for (const char *next; *line; line = next) {
		size_t length = strcspn(line, "\n");

		next = line + length + (line[length] == '\n');
		if (count++ >= LINES_MAX) {
			more++;
			continue;
		}
		append_spaces(text, 12);
		text_append_terminal(text, line, length);
		text_append_char(text, '\n');
	}
	if (more)
		text_appendf(text, "            and %zu more\n", more);
}

/* One blank before the first column, two between the others; numbers to the right. */
static void append_aligned(struct text *text, const struct report_table *table, size_t column,
			   const char *string, size_t width)
{
	size_t columns = text_columns(string), padding = width > columns ? width - columns : 0;
	bool last = column + 1 == shown_columns(table);

	append_spaces(text, column ? 2 : 1);
	if (!is_text(&table->columns[column]))
		append_spaces(text, padding);
	text_append(text, string);
	if (is_text(&table->columns[column]) && !last)
		append_spaces(text, padding);
}

static void append_notes(struct text *text, const struct report_table *table, size_t shown)
{
	size_t notes = 0;
	bool empty = false, marked = false;

	for (size_t i = 0; i < shown; i++) {
		const struct report_row *row = &table->rows[i];

		for (size_t j = 0; j < shown_columns(table); j++)
			empty |= row->cells[j].empty;
		marked |= row->marked;
		if (!row->note || notes++ >= NOTES_MAX)
			continue;
		text_append(text, " * ");
		text_append_terminal(text, row->note, strlen(row->note));
		text_append_char(text, '\n');
	}
	if (notes > NOTES_MAX)
		text_appendf(text, " * and %zu more\n", notes - NOTES_MAX);
	if (marked && table->marked_note)
		text_appendf(text, " + %s\n", table->marked_note);
	if (empty && table->empty_cells)
		text_appendf(text, " %s\n", table->empty_cells);
}

static int measure(const struct report_table *table, size_t shown, size_t *widths)
{
	_cleanup_text_ struct text cell = {0};

	for (size_t j = 0; j < shown_columns(table); j++) {
		widths[j] = text_columns(table->columns[j].name);
		for (size_t i = 0; i < shown; i++) {
			size_t width;

			text_clear(&cell);
			append_for_people(&cell, &table->columns[j], &table->rows[i].cells[j]);
			width = text_columns(text_string(&cell));
			widths[j] = width > widths[j] ? width : widths[j];
		}
	}
	return cell.failed ? -ENOMEM : 0;
}

static int print_columns(const struct report_table *table, size_t shown, struct text *text)
{
	_cleanup_free_ size_t *widths = calloc(table->column_count, sizeof(*widths));
	_cleanup_text_ struct text cell = {0};

	if (!widths || measure(table, shown, widths) < 0)
		return -ENOMEM;
	text_appendf(text, " %s\n", table->title);
	if (table->warning)
		text_appendf(text, " %s\n", table->warning);
	text_append_char(text, '\n');
	if (!table->row_count) {
		text_appendf(text, " %s\n", table->empty);
		return 0;
	}
	for (size_t j = 0; j < shown_columns(table); j++)
		append_aligned(text, table, j, table->columns[j].name, widths[j]);
	text_append_char(text, '\n');
	for (size_t i = 0; i < shown; i++) {
		for (size_t j = 0; j < shown_columns(table); j++) {
			text_clear(&cell);
			append_for_people(&cell, &table->columns[j], &table->rows[i].cells[j]);
			append_aligned(text, table, j, text_string(&cell), widths[j]);
		}
		text_append(text, table->rows[i].note ? " *" : "");
		text_append(text, table->rows[i].marked && table->marked_note ? " +\n" : "\n");
		append_lines(text, table, &table->rows[i]);
	}
	if (shown < table->row_count)
		text_appendf(text, " and %zu more rows: --rows 0 shows all\n",
			     table->row_count - shown);
	append_notes(text, table, shown);
	return cell.failed ? -ENOMEM : 0;
}

/* ---- for programs ---- */

/* A cell of text; lines in one. The caller frees. */
static char *one_line(const struct report_column *column, const struct report_cell *cell)
{
	struct text text = {0};

	for (const char *c = cell->text; *c; c++) {
		if (*c == '\n' && column->type == REPORT_LINES)
			text_append(&text, c[1] ? " < " : "");
		else
			text_append_char(&text, *c);
	}
	if (text.data && !text.failed)
		return text.data;
	text_free(&text);
	return strdup("");
}

/* ---- csv ---- */

/* A csv is read on terminals too, so control characters are escaped in it as in columns. */
static void append_csv_text(struct text *text, const char *string)
{
	_cleanup_text_ struct text safe = {0};

	text_append_terminal(&safe, string, strlen(string));
	text->failed |= safe.failed;
	if (!strpbrk(text_string(&safe), ",\"")) {
		text_append(text, text_string(&safe));
		return;
	}
	text_append_char(text, '"');
	for (const char *c = text_string(&safe); *c; c++) {
		if (*c == '"')
			text_append_char(text, '"');
		text_append_char(text, *c);
	}
	text_append_char(text, '"');
}

static int print_csv(const struct report_table *table, size_t shown, struct text *text)
{
	for (size_t j = 0; j < table->column_count; j++) {
		text_append(text, j ? "," : "");
		append_csv_text(text, table->columns[j].name);
	}
	text_append_char(text, '\n');
	for (size_t i = 0; i < shown; i++) {
		for (size_t j = 0; j < table->column_count; j++) {
			const struct report_cell *cell = &table->rows[i].cells[j];

			text_append(text, j ? "," : "");
			if (cell->empty)
				continue;
			if (is_text(&table->columns[j])) {
				_cleanup_free_ char *line = one_line(&table->columns[j], cell);

				append_csv_text(text, line ? line : "");
			} else
				append_for_programs(text, &table->columns[j], cell);
		}
		text_append_char(text, '\n');
	}
	return 0;
}

/* ---- json ---- */

static int print_json(const struct report_table *table, size_t shown, struct text *text)
{
	text_append_char(text, '[');
	for (size_t i = 0; i < shown; i++) {
		text_append(text, i ? ",\n{" : "\n{");
		for (size_t j = 0; j < table->column_count; j++) {
			const struct report_column *column = &table->columns[j];
			const struct report_cell *cell = &table->rows[i].cells[j];

			text_append(text, j ? ", " : "");
			json_append_string(text, column->name);
			text_append(text, ": ");
			if (cell->empty)
				text_append(text, "null");
			else if (is_text(column)) {
				_cleanup_free_ char *line = one_line(&table->columns[j], cell);

				json_append_string(text, line ? line : "");
			} else
				append_for_programs(text, column, cell);
		}
		text_append_char(text, '}');
	}
	text_append(text, shown ? "\n]\n" : "]\n");
	return 0;
}

int report_table_print(const struct report_table *table, enum report_format format, u64 max_rows,
		       FILE *file, struct err *err)
{
	static int (*const printers[])(const struct report_table *table, size_t shown,
				       struct text *text) = {
		[REPORT_COLUMN] = print_columns,
		[REPORT_CSV] = print_csv,
		[REPORT_JSON] = print_json,
	};
	size_t shown = max_rows && max_rows < table->row_count ? max_rows : table->row_count;
	_cleanup_text_ struct text text = {0};
	int result = printers[format](table, shown, &text);

	if (result < 0 || text.failed)
		return err_errno(err, -ENOMEM, "can't print %s", table->title);
	fputs(text_string(&text), file);
	return 0;
}
