/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of a table as text: what is the same in all layouts. */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "reports/report_printer.h"

/* Long enough for every double in %.Nf. */
#define NUMBER_SIZE 512
#define NO_VALUE    "None"

static const char nanoseconds[] = "(ns)";

/* The unit behind a column's name, which stands last; NULL: it is no time. */
static const char *time_unit_of(const struct report_column *column)
{
	size_t length = strlen(column->name), unit = sizeof(nanoseconds) - 1;

	if (length < unit || strcmp(column->name + length - unit, nanoseconds) != 0)
		return NULL;
	return column->name + length - unit;
}

bool report_column_is_text(const struct report_column *column)
{
	return column->type == REPORT_TEXT || column->type == REPORT_NAME ||
	       column->type == REPORT_LINES;
}

void report_append_heading(const struct report_printer *printer, const struct report_column *column,
			   struct text *text)
{
	const struct report_time_unit *unit = printer->style->time_unit;
	const char *behind = time_unit_of(column);

	if (!unit || !behind) {
		text_append(text, column->name);
		return;
	}
	text_append_bytes(text, column->name, behind - column->name);
	text_appendf(text, "(%s)", unit->name);
}

void report_append_separated(struct text *text, const char *number, const char *separator)
{
	size_t sign = *number == '-', digits;

	if (!*separator) {
		text_append(text, number);
		return;
	}
	digits = strspn(number + sign, "0123456789");
	text_append_bytes(text, number, sign);
	number += sign;
	for (size_t i = 0; i < digits; i++) {
		if (i && (digits - i) % 3 == 0)
			text_append(text, separator);
		text_append_char(text, number[i]);
	}
	text_append(text, number + digits);
}

void report_append_lines(struct text *text, const char *lines)
{
	for (const char *c = lines; *c; c++) {
		if (*c != '\n')
			text_append_char(text, *c);
		else if (c[1])
			text_append(text, " < ");
	}
}

/* nsys rounds times and shares to one place by SQLite, where what lies in the middle, as it is written in decimals, goes up; sizes,
 * which have more places, are rounded as by printf(). */
static double round_value(const struct report_column *column, double value)
{
	double scaled = value * 10;

	if (column->decimals != 1 || fabs(scaled) > 1e15)
		return value;
	return round(scaled) / 10;
}

static void append_number(const struct report_printer *printer, const struct report_column *column,
			  const struct report_cell *cell, struct text *text)
{
	const struct report_time_unit *unit = printer->style->time_unit;
	char number[NUMBER_SIZE];

	if (unit && time_unit_of(column)) {
		double value = column->type == REPORT_DECIMAL ? round_value(column, cell->decimal)
							      : (double)cell->count;

		/* A quotient would round in another way at times. */
		snprintf(number, sizeof(number), "%.*f", unit->decimals, value * (1.0 / unit->ns));
	} else if (column->type == REPORT_DECIMAL) {
		snprintf(number, sizeof(number), "%.*f", column->decimals,
			 round_value(column, cell->decimal));
	} else if (column->type == REPORT_NUMBER || !*printer->separator) {
		json_append_u64(text, cell->count);
		return;
	} else {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)cell->count);
	}
	report_append_separated(text, number, printer->separator);
}

void report_append_value(const struct report_printer *printer, const struct report_column *column,
			 const struct report_cell *cell, struct text *text)
{
	if (cell->empty)
		text_append(text, NO_VALUE);
	else if (column->type == REPORT_LINES)
		report_append_lines(text, cell->text);
	else if (report_column_is_text(column))
		text_append(text, cell->text);
	else
		append_number(printer, column, cell, text);
}
