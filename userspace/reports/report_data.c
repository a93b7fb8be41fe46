/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables for programs: values between commas or tabs, and JSON. */
#include "base/json.h"
#include "reports/report_printer.h"

/* ---- csv, tsv ---- */

/* RFC 4180 but for the newline. Tables are read on terminals too: control characters are escaped as in columns. */
static void append_csv_cell(struct report_printer *printer, const char *string, size_t length)
{
	struct text *safe = &printer->cell;

	text_clear(safe);
	text_append_terminal(safe, string, length);
	if (!strpbrk(text_string(safe), ",\"")) {
		text_append_bytes(&printer->text, text_string(safe), safe->length);
		return;
	}
	text_append_char(&printer->text, '"');
	for (const char *c = text_string(safe); *c; c++) {
		if (*c == '"')
			text_append_char(&printer->text, '"');
		text_append_char(&printer->text, *c);
	}
	text_append_char(&printer->text, '"');
}

/* Tabs are escaped in text, so no cell holds one. */
static void append_tsv_cell(struct report_printer *printer, const char *string, size_t length)
{
	text_append_terminal(&printer->text, string, length);
}

typedef void append_separated_cell(struct report_printer *printer, const char *string,
				   size_t length);

static void begin_separated(struct report_printer *printer, char separator,
			    append_separated_cell *append)
{
	const struct report_table *table = printer->table;

	for (size_t j = 0; j < table->column_count; j++) {
		struct text heading _cleanup_text_ = {0};

		report_append_heading(printer, &table->columns[j], &heading);
		if (j)
			text_append_char(&printer->text, separator);
		append(printer, text_string(&heading), heading.length);
	}
	text_append_char(&printer->text, '\n');
}

static void append_separated_row(struct report_printer *printer, const struct report_row *row,
				 char separator, append_separated_cell *append)
{
	const struct report_table *table = printer->table;
	struct text value _cleanup_text_ = {0};

	for (size_t j = 0; j < table->column_count; j++) {
		const struct report_column *column = &table->columns[j];

		if (j)
			text_append_char(&printer->text, separator);
		if (!report_column_is_text(column)) {
			report_append_value(printer, column, &row->cells[j], &printer->text);
			continue;
		}
		text_clear(&value);
		report_append_value(printer, column, &row->cells[j], &value);
		append(printer, text_string(&value), value.length);
		printer->text.failed |= value.failed;
	}
	text_append_char(&printer->text, '\n');
}

static void begin_csv(struct report_printer *printer)
{
	begin_separated(printer, ',', append_csv_cell);
}

static void append_csv_row(struct report_printer *printer, const struct report_row *row)
{
	append_separated_row(printer, row, ',', append_csv_cell);
}

static void begin_tsv(struct report_printer *printer)
{
	begin_separated(printer, '\t', append_tsv_cell);
}

static void append_tsv_row(struct report_printer *printer, const struct report_row *row)
{
	append_separated_row(printer, row, '\t', append_tsv_cell);
}

static void end_separated(struct report_printer *printer)
{
}

const struct report_layout report_layout_csv = {begin_csv, append_csv_row, end_separated, false};
const struct report_layout report_layout_tsv = {begin_tsv, append_tsv_row, end_separated, false};

/* ---- json ---- */

static void begin_json(struct report_printer *printer)
{
	text_append_char(&printer->text, '[');
}

static void append_json_row(struct report_printer *printer, const struct report_row *row)
{
	const struct report_table *table = printer->table;

	text_append(&printer->text, printer->rows ? ",\n  {" : "\n  {");
	for (size_t j = 0; j < table->column_count; j++) {
		const struct report_column *column = &table->columns[j];

		text_append(&printer->text, j ? ",\n    " : "\n    ");
		text_clear(&printer->cell);
		report_append_heading(printer, column, &printer->cell);
		json_append_string(&printer->text, text_string(&printer->cell));
		text_append(&printer->text, ": ");
		text_clear(&printer->cell);
		report_append_value(printer, column, &row->cells[j], &printer->cell);
		if (report_column_is_text(column) || row->cells[j].empty)
			json_append_string(&printer->text, text_string(&printer->cell));
		else
			text_append(&printer->text, text_string(&printer->cell));
	}
	text_append(&printer->text, "\n  }");
}

static void end_json(struct report_printer *printer)
{
	text_append(&printer->text, printer->rows ? "\n]\n" : "]\n");
}

const struct report_layout report_layout_json = {begin_json, append_json_row, end_json, false};
