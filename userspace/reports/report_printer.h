/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How report_print.c prints a table: what a layout (columns, boxes, csv, ...) has to do, and what it has for that. */
#ifndef GPUPROBE_REPORTS_REPORT_PRINTER_H
#define GPUPROBE_REPORTS_REPORT_PRINTER_H

#include <locale.h>

#include "reports/report_table.h"

struct report_printer {
	const struct report *report;
	const struct report_style *style;
	struct report_table *table;
	const struct report_layout *layout;
	struct text text; /* made, and not in the file yet */
	struct text cell; /* scratch */
	size_t *widths;	  /* of columns, as far as the first rows tell */
	locale_t locale;
	const char *separator; /* between thousands, by the user's language; "": none */
	u64 rows;	       /* printed */
	u64 left_out;	       /* rows beyond the most that are wanted */
	struct text notes;     /* of rows that were printed */
	size_t note_count;
	bool begun, empty_cells, marked;
	int result; /* the first error of the file */
};

struct report_layout {
	/* Before the first row; table holds those that come first. */
	void (*begin)(struct report_printer *printer);
	void (*row)(struct report_printer *printer, const struct report_row *row);
	void (*end)(struct report_printer *printer);
	bool for_people; /* title and notes stand around it, long names are cut */
};

/* By enum report_format. */
extern const struct report_layout report_layout_columns, report_layout_table, report_layout_csv,
	report_layout_tsv, report_layout_json;

/* The name of a column, with the unit in which its values are printed. */
void report_append_heading(const struct report_printer *printer, const struct report_column *column,
			   struct text *text);
bool report_column_is_text(const struct report_column *column);
/* What the user's language puts between thousands, "" for nothing; valid while locale is. (locale_t)0: nothing. */
const char *report_thousands_separator(locale_t locale);
/* Digits and perhaps a point: 1234567.8 -> 1,234,567.8 */
void report_append_separated(struct text *text, const char *number, const char *separator);
/* Lines in one, " < " between. */
void report_append_lines(struct text *text, const char *lines);
enum report_alignment { REPORT_LEFT, REPORT_CENTRE, REPORT_RIGHT };
/* A string in so many columns, or as many as it takes. */
void report_append_aligned(struct text *text, const char *string, size_t width,
			   enum report_alignment alignment);
/* A cell as all layouts have it: "None" where there is no value. Text is appended as it is. */
void report_append_value(const struct report_printer *printer, const struct report_column *column,
			 const struct report_cell *cell, struct text *text);

#endif
