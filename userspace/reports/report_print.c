/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the rows of a report as they come, in one of the layouts. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "reports/report_printer.h"
#include "reports/report_runs.h"

#define NOTES_MAX 5

static const struct {
	const char *name, *ending;
	const struct report_layout *layout;
} formats[] = {
	[REPORT_COLUMN] = {"column", "txt", &report_layout_columns},
	[REPORT_TABLE] = {"table", "txt", &report_layout_table},
	[REPORT_CSV] = {"csv", "csv", &report_layout_csv},
	[REPORT_TSV] = {"tsv", "tsv", &report_layout_tsv},
	[REPORT_JSON] = {"json", "json", &report_layout_json},
};

/* The short names head columns; decimals are those of nsys. */
static const struct {
	struct report_time_unit unit;
	const char *aliases[3];
} time_units[] = {
	{{"ns", 1, 0}, {"nsec", "nanoseconds", NULL}},
	{{"us", 1e3, 3}, {"usec", "microseconds", NULL}},
	{{"ms", 1e6, 4}, {"msec", "milliseconds", NULL}},
	{{"sec", 1e9, 4}, {"s", "seconds", NULL}},
};

bool report_format_is_for_people(enum report_format format)
{
	return formats[format].layout->for_people;
}

const char *report_format_ending(enum report_format format)
{
	return formats[format].ending;
}

int report_format_find(const char *name, enum report_format *ret_format, struct err *err)
{
	struct nearest nearest = {.word = name};
	_cleanup_text_ struct text known = {0};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, name) == 0) {
			*ret_format = i;
			return 0;
		}
		nearest_offer(&nearest, formats[i].name);
		text_appendf(&known, "%s%s", i ? ", " : "", formats[i].name);
	}
	return err_set(err, -EINVAL, "unknown format of tables \"%.100s\": there are %s%s", name,
		       text_string(&known), nearest_hint(&nearest, ""));
}

int report_time_unit_find(const char *name, const struct report_time_unit **ret_unit,
			  struct err *err)
{
	_cleanup_text_ struct text known = {0};

	for (size_t i = 0; i < ARRAY_SIZE(time_units); i++) {
		bool found = !strcmp(time_units[i].unit.name, name);

		for (size_t j = 0; j < 2; j++)
			found |= !strcmp(time_units[i].aliases[j], name);
		if (found) {
			/* As they come: counts stay counts. */
			*ret_unit = i ? &time_units[i].unit : NULL;
			return 0;
		}
		text_appendf(&known, "%s%s", i ? ", " : "", time_units[i].unit.name);
	}
	return err_set(err, -EINVAL, "unknown unit of time \"%.100s\": there are %s", name,
		       text_string(&known));
}

/* The C locales have nothing. */
const char *report_thousands_separator(locale_t locale)
{
	const char *separator = locale ? nl_langinfo_l(THOUSEP, locale) : "";

	return separator ? separator : "";
}

/* ---- notes ---- */

static void keep_notes(struct report_printer *printer, const struct report_row *row)
{
	for (size_t j = 0; j < printer->table->column_count; j++)
		printer->empty_cells |=
			row->cells[j].empty && printer->table->columns[j].type != REPORT_LINES;
	printer->marked |= row->marked;
	if (!row->note || printer->note_count++ >= NOTES_MAX)
		return;
	text_append(&printer->notes, " * ");
	text_append_terminal(&printer->notes, row->note, strlen(row->note));
	text_append_char(&printer->notes, '\n');
}

static void append_notes(struct report_printer *printer)
{
	const struct report_table *table = printer->table;
	struct text *text = &printer->notes;

	if (printer->note_count > NOTES_MAX)
		text_appendf(text, " * and %zu more\n", printer->note_count - NOTES_MAX);
	if (printer->marked && table->marked_note)
		text_appendf(text, " + %s\n", table->marked_note);
	if (printer->empty_cells && table->empty_cells)
		text_appendf(text, " %s\n", table->empty_cells);
	if (printer->left_out)
		text_appendf(&printer->text, " and %llu more rows: --rows 0 shows all\n",
			     (unsigned long long)printer->left_out);
	if (text->length)
		text_appendf(&printer->text, "\n%s", text->data);
	printer->text.failed |= text->failed;
}

/* ---- rows ---- */

static void write_out(struct report_printer *printer)
{
	struct text *text = &printer->text;

	if (text->failed && printer->result == 0)
		printer->result = -ENOMEM;
	if (printer->result == 0 && text->length) {
		errno = 0;
		if (fwrite(text->data, text->length, 1, printer->style->file) != 1)
			printer->result = errno ? -errno : -EIO;
	}
	text_clear(text);
}

static bool is_skipped(const struct report_printer *printer)
{
	return (printer->report->data || printer->style->skip_empty) && !printer->rows &&
	       !printer->table->row_count;
}

static void begin(struct report_printer *printer)
{
	const struct report_table *table = printer->table;

	printer->begun = true;
	if (printer->layout->for_people && !is_skipped(printer)) {
		text_appendf(&printer->text, "\n ** %s (%s):\n", table->title,
			     printer->report->name);
		if (table->cut && !table->whole)
			text_append(&printer->text, " " VIEW_CUT_SHORT "\n");
		text_append_char(&printer->text, '\n');
	}
	if (table->row_count || !printer->layout->for_people)
		printer->layout->begin(printer);
}

/* Prints the rows that there are, for report_table_add(). */
static int print_rows(struct report_printer *printer)
{
	u64 max_rows = printer->style->max_rows;

	if (!printer->begun)
		begin(printer);
	for (size_t i = 0; i < printer->table->row_count; i++) {
		const struct report_row *row = &printer->table->rows[i];

		if (max_rows && printer->rows >= max_rows) {
			printer->left_out++;
			continue;
		}
		printer->layout->row(printer, row);
		printer->rows++;
		keep_notes(printer, row);
		if (printer->text.length > (1 << 16))
			write_out(printer);
	}
	write_out(printer);
	return printer->result;
}

/* Of a table without rows. */
static void append_nothing(struct report_printer *printer)
{
	const struct report *report = printer->report;

	if (!printer->layout->for_people)
		printer->layout->end(printer);
	else if (printer->style->skip_empty)
		return;
	else if (report->data)
		text_appendf(&printer->text, "\nSKIPPED: %s does not contain %s.\n",
			     printer->style->path, report->data);
	else
		text_appendf(&printer->text, " %s\n", printer->table->empty);
}

static void finish(struct report_printer *printer)
{
	print_rows(printer);
	if (printer->rows)
		printer->layout->end(printer);
	else
		append_nothing(printer);
	if (printer->layout->for_people)
		append_notes(printer);
	write_out(printer);
}

static int stream_rows(struct report_table *table)
{
	return print_rows(table->printer);
}

static void printer_open(struct report_printer *printer, struct report_table *table)
{
	table->printer = printer;
	table->print = stream_rows;
	printer->table = table;
	printer->layout = formats[printer->style->format].layout;
	printer->locale = newlocale(LC_NUMERIC_MASK, "", (locale_t)0);
	printer->separator = "";
	if (printer->layout->for_people)
		printer->separator = report_thousands_separator(printer->locale);
}

/* result: of making the rows. */
static int printer_close(struct report_printer *printer, int result, struct err *err)
{
	struct report_table *table = printer->table;

	if (result == 0)
		finish(printer);
	/* It is why the making failed, where both did. */
	if (printer->result < 0)
		result = err_errno(err, printer->result, "can't write the report %s",
				   printer->report->name);
	table->printer = NULL;
	table->print = NULL;
	free(printer->widths);
	text_free(&printer->text);
	text_free(&printer->cell);
	text_free(&printer->notes);
	if (printer->locale)
		freelocale(printer->locale);
	return result;
}

int report_print(const struct report_request *request, struct view *view,
		 const struct report_style *style, u64 *ret_row_count, struct err *err)
{
	_cleanup_report_table_ struct report_table table = {0};
	struct report_printer printer = {.style = style, .report = request->report};
	int result;

	table.cut = view_survey(view)->cut;
	table.for_people = report_format_is_for_people(style->format);
	printer_open(&printer, &table);
	result = printer_close(&printer, report_runs_one(view, request, &table, err), err);
	if (result == 0 && ret_row_count)
		*ret_row_count = printer.rows;
	return result;
}
