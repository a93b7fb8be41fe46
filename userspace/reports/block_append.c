/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/block_append.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/price.h"
#include "reports/block_way.h"
#include "reports/blocks.h"
#include "reports/report_printer.h"
#include "reports/shown_name.h"

#define TITLE_COLUMNS	  11
#define BEHIND_TITLE	  "           "
#define BETWEEN		  2
#define NOTHING		  "-"
#define NAME_LEAST	  20 /* columns of a name, whatever stands in front of it */
#define NAME_LEAST_OF_ALL 12 /* where only the first column is left in front of it */
#define TEXT_MOST	  48 /* columns of a text in front of it */
#define BRIEF_MOST	  26
#define PLACE_MOST	  34   /* "step (train.py:12) [waits here]" */
#define WORDS_MOST	  1000 /* columns of a sentence before it is cut */
#define TOTAL_TIME	  "Total Time (ns)"
#define OF_WINDOW	  "of window"
#define HEADING_MAX	  32
#define MARK		  " +" /* behind the names of marked rows */

/* A block on its way to the terminal. */
struct block_page {
	const struct block_content *content;
	size_t column_count;
	size_t widths[BLOCK_COLUMNS_MAX]; /* the last takes what it needs: 0 */
	struct text *cells;		  /* [row * column_count + column] */
	char of_window[HEADING_MAX];	  /* in place of OF_WINDOW */
	size_t name_columns;		  /* room for the last column */
};

static const struct report_column *find_column(const struct report_table *table, const char *name,
					       size_t *ret_place)
{
	for (size_t i = 0; i < table->column_count; i++) {
		if (strcmp(table->columns[i].name, name) != 0)
			continue;
		*ret_place = i;
		return &table->columns[i];
	}
	return NULL;
}

static bool has_same_text(const struct report_cell *cell, const struct report_cell *other)
{
	return cell->text && other->text && !strcmp(cell->text, other->text);
}

/* The row of the table beside that has the same name; names stand last. NULL: none. */
static const struct report_row *row_beside(const struct block_content *content, size_t row)
{
	const struct report_table *table = content->table, *beside = content->beside;

	for (size_t i = 0; i < beside->row_count; i++)
		if (has_same_text(&table->rows[row].cells[table->column_count - 1],
				  &beside->rows[i].cells[beside->column_count - 1]))
			return &beside->rows[i];
	return NULL;
}

/* NULL: there is none with a value. */
static const struct report_cell *find_cell(const struct block_content *content, size_t row,
					   const char *name,
					   const struct report_column **ret_column)
{
	const struct report_row *of = &content->table->rows[row];
	size_t place;

	*ret_column = find_column(content->table, name, &place);
	if (!*ret_column) {
		*ret_column = find_column(content->beside, name, &place);
		of = *ret_column ? row_beside(content, row) : NULL;
	}
	return of && !of->cells[place].empty ? &of->cells[place] : NULL;
}

/* Three digits: 312 ns, 6.60 us, 11.6 ms, 145 ms. */
static void append_unit(double value, const char *const *units, size_t unit_count,
			struct text *text)
{
	size_t unit = 0;
	int decimals;

	while (value >= 999.5 && unit + 1 < unit_count) {
		value /= 1000;
		unit++;
	}
	decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	text_appendf(text, "%.*f %s", unit || value != floor(value) ? decimals : 0, value,
		     units[unit]);
}

static void append_bytes(double bytes, struct text *text)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};

	append_unit(bytes, units, ARRAY_SIZE(units), text);
}

static void append_time(double ns, struct text *text)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};

	append_unit(ns, units, ARRAY_SIZE(units), text);
}

static double value_of(const struct report_column *column, const struct report_cell *cell)
{
	return column->type == REPORT_DECIMAL ? cell->decimal : (double)cell->count;
}

static void append_rate(const struct block_content *content, size_t row, double megabytes,
			struct text *text)
{
	static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
	const struct report_column *column;
	const struct report_cell *cell = find_cell(content, row, TOTAL_TIME, &column);

	if (cell && cell->count)
		append_unit(megabytes * 1e15 / cell->count, units, ARRAY_SIZE(units), text);
	else
		text_append(text, NOTHING);
}

/* Of the time in which it was recorded, which is said where that is not what the heading says. */
static void append_of_window(const struct block_content *content, size_t row, double ns,
			     struct text *text)
{
	u64 recorded_ns = content->table->rows[row].recorded_ns;
	u64 window_ns = recorded_ns ? recorded_ns : content->window_ns;

	text_appendf(text, "%.1f %%", window_ns ? 100.0 * ns / window_ns : 0);
	if (recorded_ns) {
		text_append(text, " of ");
		append_time(recorded_ns, text);
	}
}

static void append_number(const struct block_content *content, size_t row, enum shown shown,
			  double value, struct text *text)
{
	char number[64];

	switch (shown) {
	case SHOWN_OF_WINDOW:
		append_of_window(content, row, value, text);
		return;
	case SHOWN_SHARE:
		text_appendf(text, "%.1f %%", value);
		return;
	case SHOWN_TIME:
	case SHOWN_TIME_IF_ANY:
		append_time(value, text);
		return;
	case SHOWN_MOMENT:
		text_appendf(text, "%.3f s", value / NS_PER_SECOND);
		return;
	case SHOWN_BYTES:
	case SHOWN_MEGABYTES:
		append_bytes(shown == SHOWN_BYTES ? value : value * 1e6, text);
		return;
	case SHOWN_RATE:
		append_rate(content, row, value, text);
		return;
	default:
		snprintf(number, sizeof(number), "%.*f",
			 shown == SHOWN_DECIMAL && value != floor(value), value);
		report_append_separated(text, number,
					shown == SHOWN_NUMBER ? "" : content->separator);
	}
}

/* So many columns at most: fewer on a narrow terminal. */
static size_t text_most(const struct block_content *content, enum shown shown)
{
	size_t most = shown == SHOWN_BRIEF	    ? BRIEF_MOST
		      : shown == SHOWN_PLACE_IF_ANY ? PLACE_MOST
						    : TEXT_MOST;
	size_t part = most * content->width / BLOCKS_COLUMNS;

	return part < NAME_LEAST ? NAME_LEAST : part;
}

static bool is_left(enum shown shown)
{
	return shown == SHOWN_TEXT || shown == SHOWN_BRIEF || shown == SHOWN_PLACE_IF_ANY;
}

static const char *heading_of(const struct block_page *page, size_t j)
{
	const char *heading = page->content->columns[j].heading;

	return strcmp(heading, OF_WINDOW) ? heading : page->of_window;
}

static struct text *cell_of(const struct block_page *page, size_t row, size_t j)
{
	return &page->cells[row * page->column_count + j];
}

static void fill_cell(const struct block_page *page, size_t row, size_t j)
{
	const struct block_column *shown = &page->content->columns[j];
	struct text *text = cell_of(page, row, j);
	const struct report_column *column;
	const struct report_cell *cell = find_cell(page->content, row, shown->name, &column);

	if (!cell)
		text_append(text, NOTHING);
	else if (report_column_is_text(column))
		text->failed |=
			shown_names((const char *const *)&cell->text, 1,
				    text_most(page->content, shown->shown), false, text) < 0;
	else
		append_number(page->content, row, shown->shown, value_of(column, cell), text);
}

/* All but the last column. How wide they are, the title included. */
static size_t fill_cells(struct block_page *page)
{
	size_t used = TITLE_COLUMNS;

	for (size_t j = 0; j + 1 < page->column_count; j++) {
		page->widths[j] = text_columns(heading_of(page, j));
		for (size_t i = 0; i < page->content->row_count; i++) {
			size_t width;

			fill_cell(page, i, j);
			width = text_columns(text_string(cell_of(page, i, j)));
			page->widths[j] = width > page->widths[j] ? width : page->widths[j];
		}
		used += page->widths[j] + BETWEEN;
	}
	return used;
}

/* Where the words can end that fit: at a blank that is in no command. 0: nowhere. */
static size_t words_that_fit(const char *words, size_t columns)
{
	size_t fits = text_skip_columns(words, columns), end = 0;
	bool in_command = false;

	for (size_t i = 0; i < fits; i++) {
		in_command ^= words[i] == '`';
		if (words[i] == ' ' && !in_command)
			end = i;
	}
	return end;
}

/* The last column's name, a sentence, in so many columns. */
static int cut_words(const struct block_page *page, struct text *words, size_t columns)
{
	_cleanup_text_ struct text shown = {0}, rest = {0};
	size_t end;

	if (text_columns(text_string(words)) <= columns)
		return 0;
	text_appendf(&rest, " ... (-r %s)", page->content->report);
	end = words_that_fit(text_string(words), columns > rest.length ? columns - rest.length : 0);
	text_append_bytes(&shown, text_string(words), end);
	text_append(&shown, text_string(&rest));
	if (shown.failed || rest.failed)
		return -ENOMEM;
	text_free(words);
	*words = shown;
	shown = (struct text){0};
	return 0;
}

static bool is_marked(const struct block_content *content, size_t row)
{
	return content->table->marked_brief && content->table->rows[row].marked;
}

static bool has_marked(const struct block_content *content)
{
	for (size_t i = 0; i < content->row_count; i++)
		if (is_marked(content, i))
			return true;
	return false;
}

static int fill_names(struct block_page *page, size_t columns)
{
	const struct block_content *content = page->content;
	size_t last = page->column_count - 1;
	_cleanup_free_ char **names = calloc(content->row_count + 1, sizeof(*names));
	_cleanup_free_ struct text *shown = calloc(content->row_count + 1, sizeof(*shown));
	int result = names && shown ? 0 : -ENOMEM;

	for (size_t i = 0; i < content->row_count && result == 0; i++) {
		const struct report_column *column;
		const struct report_cell *cell =
			find_cell(content, i, content->columns[last].name, &column);

		names[i] =
			block_way_join(cell ? cell->text : NOTHING, content->columns[last].shown);
		result = names[i] ? 0 : -ENOMEM;
	}
	if (result == 0)
		result = shown_names((const char *const *)names, content->row_count,
				     content->columns[last].shown == SHOWN_WORDS ? WORDS_MOST
										 : columns,
				     content->columns[last].shown == SHOWN_CODE, shown);
	for (size_t i = 0; i < content->row_count && result == 0; i++)
		if (content->columns[last].shown == SHOWN_WORDS)
			result = cut_words(page, &shown[i], columns);
	for (size_t i = 0; i < content->row_count && names && shown; i++) {
		text_append(&shown[i], is_marked(content, i) ? MARK : "");
		*cell_of(page, i, last) = shown[i];
		free(names[i]);
	}
	return result;
}

/* Behind the last heading. */
static void append_behind(const struct block_content *content, struct text *text)
{
	if (content->row_count < content->table->row_count)
		text_appendf(text, " (%zu of %zu)", content->row_count, content->table->row_count);
	if (has_marked(content))
		text_appendf(text, " (%s: %s)", MARK + 1, content->table->marked_brief);
}

static void append_line(const struct block_page *page, const char *title, size_t row, bool heading,
			struct text *text)
{
	const struct block_content *content = page->content;

	report_append_aligned(text, title, TITLE_COLUMNS, REPORT_LEFT);
	for (size_t j = 0; j < page->column_count; j++) {
		const char *cell =
			heading ? heading_of(page, j) : text_string(cell_of(page, row, j));
		enum report_alignment alignment =
			is_left(content->columns[j].shown) ? REPORT_LEFT : REPORT_RIGHT;

		if (j)
			text_appendf(text, "%*s", BETWEEN, "");
		report_append_aligned(text, cell, page->widths[j], alignment);
	}
	text_append_char(text, '\n');
}

/* The last one ends with a word that fits, and tells of rows that are left out only where there is room. */
static void append_headings(const struct block_page *page, struct text *text)
{
	const char *last = heading_of(page, page->column_count - 1);
	_cleanup_text_ struct text line = {0}, behind = {0};
	size_t cut = words_that_fit(last, page->name_columns + 1);

	append_line(page, page->content->title, 0, true, &line);
	append_behind(page->content, &behind);
	/* Without the end of the line. */
	line.length -= line.length != 0;
	if (!line.failed && text_columns(last) > page->name_columns && cut)
		line.length -= strlen(last) - cut;
	text_append_bytes(text, text_string(&line), line.length);
	if (text_columns(last) + text_columns(text_string(&behind)) <= page->name_columns ||
	    page->content->width >= BLOCKS_COLUMNS)
		text_append(text, text_string(&behind));
	text_append_char(text, '\n');
	text->failed |= line.failed || behind.failed;
}

/* What is left of the width for a name. */
static size_t name_room(const struct block_content *content, size_t used)
{
	size_t least = content->width < BLOCKS_COLUMNS ? NAME_LEAST_OF_ALL : NAME_LEAST;

	return used + least < content->width ? content->width - used : least;
}

static bool has_room(const struct block_page *page, size_t used)
{
	_cleanup_text_ struct text heading = {0};
	size_t columns;

	/* That is enough for what is usual: names are shortened. */
	if (page->content->width >= BLOCKS_COLUMNS)
		return true;
	text_append(&heading, heading_of(page, page->column_count - 1));
	append_behind(page->content, &heading);
	columns = text_columns(text_string(&heading));
	return used + (columns > NAME_LEAST ? columns : NAME_LEAST) <= page->content->width;
}

static void free_cells(struct block_page *page)
{
	for (size_t i = 0; page->cells && i < page->content->row_count * page->column_count; i++)
		text_free(&page->cells[i]);
	free(take_pointer(&page->cells));
}

/* Between the first and the last column: the last number, else the first text. */
static size_t least_wanted(const struct block_page *page)
{
	for (size_t j = page->column_count - 2; j; j--)
		if (!is_left(page->content->columns[j].shown))
			return j;
	return 1;
}

/* All cells but the names, of as many of the columns as there is room for; the first and the last stay. 0 or -ENOMEM. */
static int fill_what_fits(struct block_page *page, struct block_column *columns, size_t *ret_used)
{
	size_t dropped;

	for (;;) {
		page->cells = calloc(page->content->row_count * page->column_count + 1,
				     sizeof(*page->cells));
		if (!page->cells)
			return -ENOMEM;
		*ret_used = fill_cells(page);
		if (page->column_count <= 2 || has_room(page, *ret_used))
			return 0;
		free_cells(page);
		dropped = least_wanted(page);
		page->column_count--;
		memmove(&columns[dropped], &columns[dropped + 1],
			(page->column_count - dropped) * sizeof(*columns));
		page->widths[page->column_count - 1] = 0;
	}
}

static bool has_any(const struct block_content *content, const struct block_column *shown)
{
	const struct report_column *column;
	const struct report_cell *cell;

	for (size_t i = 0; i < content->row_count; i++) {
		cell = find_cell(content, i, shown->name, &column);
		if (cell && (shown->shown != SHOWN_COUNT_IF_ANY || cell->count))
			return true;
	}
	return false;
}

static bool is_shown_if_any(enum shown shown)
{
	return shown == SHOWN_MOMENT || shown == SHOWN_TIME_IF_ANY || shown == SHOWN_COUNT_IF_ANY ||
	       shown == SHOWN_PLACE_IF_ANY;
}

/* Those that are shown. */
static size_t choose_columns(const struct block_content *content,
			     struct block_column ret_columns[static BLOCK_COLUMNS_MAX])
{
	size_t count = 0;

	for (size_t j = 0; j < BLOCK_COLUMNS_MAX && content->columns[j].heading; j++)
		if (!is_shown_if_any(content->columns[j].shown) ||
		    has_any(content, &content->columns[j]))
			ret_columns[count++] = content->columns[j];
	return count;
}

static void name_window(struct block_page *page)
{
	struct text text _cleanup_text_ = {0};

	text_append(&text, "of ");
	append_time(page->content->window_ns, &text);
	snprintf(page->of_window, sizeof(page->of_window), "%s",
		 text.failed ? OF_WINDOW : text_string(&text));
}

/* Instead of rows. */
static int append_words(const struct block_content *content, struct text *text)
{
	const char *words = content->table->brief ?: content->table->empty;
	struct text shown _cleanup_text_ = {0};
	int result = shown_names(&words, 1, content->width - TITLE_COLUMNS, false, &shown);

	report_append_aligned(text, content->title, TITLE_COLUMNS, REPORT_LEFT);
	text_appendf(text, "%s\n", text_string(&shown));
	return result < 0 || shown.failed ? -ENOMEM : 0;
}

int block_append(const struct block_content *whole, struct text *text)
{
	struct block_column columns[BLOCK_COLUMNS_MAX];
	struct block_content shown = *whole, *content = &shown;
	struct block_page page = {.content = content};
	size_t used;
	int result;

	if (content->table->brief || !content->table->row_count)
		return append_words(content, text);
	page.column_count = choose_columns(whole, columns);
	shown.columns = columns;
	name_window(&page);
	result = fill_what_fits(&page, columns, &used);
	if (result < 0)
		return result;
	page.name_columns = name_room(content, used);
	result = fill_names(&page, page.name_columns - (has_marked(content) ? strlen(MARK) : 0));
	append_headings(&page, text);
	for (size_t i = 0; i < content->row_count; i++)
		append_line(&page, "", i, false, text);
	for (size_t i = 0; i < content->row_count * page.column_count; i++)
		text->failed |= page.cells[i].failed;
	free_cells(&page);
	return result;
}

/* Of all rows of the report. */
static double sum_of(const struct block_content *content, const char *name)
{
	double sum = 0;

	for (size_t i = 0; i < content->table->row_count; i++) {
		const struct report_column *column;
		const struct report_cell *cell = find_cell(content, i, name, &column);

		sum += cell ? value_of(column, cell) : 0;
	}
	return sum;
}

/* Sums are of all of it; a share says itself of what. */
static void append_window(const struct block_content *content, enum shown shown, struct text *line)
{
	if (shown == SHOWN_SHARE)
		return;
	text_append(line, " in ");
	append_time(content->window_ns, line);
}

/* A share of the CPU time of targets that hardly ran is said of one CPU. */
static bool append_price_of_little(const struct block_content *content, double percent,
				   struct text *line)
{
	double cost_ns = sum_of(content, "Cost (ns)"), window_ns = content->window_ns;

	if (!price_is_of_little(percent, price_of_one_cpu_percent(cost_ns, window_ns)))
		return false;
	price_append_of_one_cpu(line, cost_ns, window_ns);
	return true;
}

static void append_sum(const struct block_content *content, const struct block_column *shown,
		       struct text *line)
{
	double sum = sum_of(content, shown->name);

	if (shown->shown == SHOWN_SHARE && append_price_of_little(content, sum, line))
		return;
	append_number(content, 0, shown->shown, sum, line);
	text_appendf(line, " %s", shown->heading);
}

int block_append_line(const struct block_content *content, struct text *text)
{
	const struct block_column *shown = content->columns;
	_cleanup_free_ char *most = NULL;
	struct text line _cleanup_text_ = {0}, name _cleanup_text_ = {0};
	const struct report_column *column;
	const struct report_cell *cell;
	size_t used, room;
	int result;

	report_append_aligned(&line, content->title, TITLE_COLUMNS, REPORT_LEFT);
	for (; shown[1].heading; shown++) {
		append_sum(content, shown, &line);
		if (!shown[2].heading)
			append_window(content, shown->shown, &line);
		text_append(&line, shown[2].heading ? ", " : "; ");
	}
	text_appendf(&line, "%s ", shown->heading);
	cell = find_cell(content, 0, shown->name, &column);
	most = block_way_join(cell ? cell->text : NOTHING, shown->shown);
	used = text_columns(text_string(&line));
	/* It goes on in the next line where this one has no room for it. */
	room = used + NAME_LEAST <= content->width ? used : TITLE_COLUMNS;
	result = most ? shown_names((const char *const *)&most, 1, content->width - room,
				    shown->shown == SHOWN_CODE, &name)
		      : -ENOMEM;
	text_append(&line, text_string(&name));
	text_append_wrapped(text, "", BEHIND_TITLE, content->width, text_string(&line));
	return result < 0 || line.failed || name.failed ? -ENOMEM : 0;
}
