/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report "functions": time in each function, with the columns of `nsys stats`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "reports/report_table.h"
#include "reports/statistics.h"

/* Of durations; beyond it they are sorted in a file. */
#define MEMORY_BYTES (32 << 20)

enum column {
	COLUMN_SHARE,
	COLUMN_TOTAL,
	COLUMN_CALLS,
	COLUMN_AVERAGE,
	COLUMN_MEDIAN,
	COLUMN_MINIMUM,
	COLUMN_MAXIMUM,
	COLUMN_DEVIATION,
	COLUMN_NAME,
	COLUMN_COUNT,
};

/* In the place of the name, which then follows. */
static const struct report_column overhead_column = {"Overhead (%)", REPORT_DECIMAL, 1};
static const struct report_column inside_column = {"Probes Inside (ns)", REPORT_COUNT, 0};
#define MORE_COLUMNS 2

/* From so much of a function's time on it is said that most of it may not be its own. */
#define INSIDE_PERCENT 10

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_SHARE] = {"Time (%)", REPORT_DECIMAL, 1},
	[COLUMN_TOTAL] = {"Total Time (ns)", REPORT_COUNT},
	[COLUMN_CALLS] = {"Num Calls", REPORT_COUNT},
	[COLUMN_AVERAGE] = {"Avg (ns)", REPORT_DECIMAL, 1},
	[COLUMN_MEDIAN] = {"Med (ns)", REPORT_DECIMAL, 1},
	[COLUMN_MINIMUM] = {"Min (ns)", REPORT_COUNT},
	[COLUMN_MAXIMUM] = {"Max (ns)", REPORT_COUNT},
	[COLUMN_DEVIATION] = {"StdDev (ns)", REPORT_DECIMAL, 1},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
};

static int compare_by_name(const void *a, const void *b)
{
	const struct statistics_row *left = *(const struct statistics_row *const *)a;
	const struct statistics_row *right = *(const struct statistics_row *const *)b;
	int names = strcmp(left->name, right->name);

	return names ? names : strcmp(left->binary, right->binary);
}

/* by_name: all rows; those with the name of row stand beside it. How many other rows look the same
 * when only the name is shown, and how many when the base name of the binary is shown too? */
static void count_alike(const struct statistics_row *const *by_name, size_t count, size_t place,
			size_t *ret_names, size_t *ret_base_names)
{
	const struct statistics_row *row = by_name[place];
	size_t first = place, names = 0, base_names = 0;

	while (first > 0 && strcmp(by_name[first - 1]->name, row->name) == 0)
		first--;
	for (size_t i = first; i < count && strcmp(by_name[i]->name, row->name) == 0; i++) {
		if (i == place)
			continue;
		names++;
		base_names += strcmp(path_base_name(by_name[i]->binary),
				     path_base_name(row->binary)) == 0;
	}
	*ret_names = names;
	*ret_base_names = base_names;
}

/* "name", "name [binary]" where several binaries have it, with the whole path where that is not
 * enough. */
static int shown_name(const struct statistics_row *const *by_name, size_t count,
		      const struct statistics_row *row, struct text *text)
{
	const struct statistics_row *const *place =
		bsearch(&row, by_name, count, sizeof(*by_name), compare_by_name);
	size_t names, base_names;

	count_alike(by_name, count, place - by_name, &names, &base_names);
	text_append(text, row->name);
	if (names && *row->binary)
		text_appendf(text, " [%s]", base_names ? row->binary : path_base_name(row->binary));
	return text->failed ? -ENOMEM : 0;
}

/* "; " behind what stands there already. */
static void append_separator(struct text *note)
{
	if (note->length)
		text_append(note, "; ");
}

static int add_note(struct report_row *row, const struct statistics_row *function, const char *name,
		    u64 window_start_ns)
{
	_cleanup_text_ struct text note = {0};
	u64 untimed = function->call_count - function->timed_count;

	if (function->switched_off_ns)
		text_appendf(
			&note,
			"%s: recorded only up to %.3f s after the start of the window, see the "
			"ledger",
			name, (double)(s64)(function->switched_off_ns - window_start_ns) / 1e9);
	if ((double)function->probes_inside_ns * 100 >=
		    (double)function->total_ns * INSIDE_PERCENT &&
	    function->probes_inside_ns) {
		append_separator(&note);
		text_appendf(
			&note,
			"%s: about %.0f %% of its time is what the probes of functions that it "
			"calls took",
			name,
			100.0 * (double)function->probes_inside_ns / (double)function->total_ns);
	}
	if (untimed && function->timed_count) {
		append_separator(&note);
		text_appendf(
			&note,
			"%s: of %llu calls %llu have no duration, since their end was not seen: "
			"they "
			"count, but not in the times",
			name, (unsigned long long)function->call_count,
			(unsigned long long)untimed);
	}
	if (!note.length && !note.failed)
		return 0;
	if (note.failed)
		return -ENOMEM;
	row->note = take_pointer(&note.data);
	return 0;
}

/* Of distributions that were cut into buckets, and of calls without an end, it is not known. */
static bool knows_inside(const struct statistics_row *function)
{
	return function->timed_count && !function->buckets;
}

/* What all rows are seen against. */
struct whole {
	double all_ns;
	u64 window_start_ns;
};

static int add_row(struct report_table *table, const struct statistics_row *function,
		   const char *name, const struct whole *whole)
{
	struct report_row *row = report_table_add(table);
	double all_ns = whole->all_ns;
	struct report_cell *cells;

	if (!row || report_cell_text(&row->cells[table->column_count - 1], name) < 0)
		return -ENOMEM;
	cells = row->cells;
	for (size_t i = COLUMN_NAME; i < table->column_count; i++) {
		const char *column = table->columns[i].name;

		if (column == overhead_column.name && function->cpu_ns)
			report_cell_decimal(&cells[i], 100.0 * (double)function->cost_ns /
							       (double)function->cpu_ns);
		if (column == inside_column.name && knows_inside(function))
			report_cell_count(&cells[i], function->probes_inside_ns);
	}
	report_cell_count(&cells[COLUMN_CALLS], function->call_count);
	if (function->switched_off_ns > whole->window_start_ns)
		row->recorded_ns = function->switched_off_ns - whole->window_start_ns;
	row->marked = function->stepped && function->timed_count;
	if (function->timed_count) {
		report_cell_decimal(&cells[COLUMN_SHARE],
				    all_ns > 0 ? 100.0 * function->total_ns / all_ns : 0);
		report_cell_count(&cells[COLUMN_TOTAL], function->total_ns);
		report_cell_decimal(&cells[COLUMN_AVERAGE], function->average_ns);
		report_cell_count(&cells[COLUMN_MINIMUM], function->minimum_ns);
		report_cell_count(&cells[COLUMN_MAXIMUM], function->maximum_ns);
	}
	if (function->timed_count && !function->buckets) {
		report_cell_decimal(&cells[COLUMN_MEDIAN], function->median_ns);
		report_cell_decimal(&cells[COLUMN_DEVIATION], function->deviation_ns);
	}
	return add_note(row, function, name, whole->window_start_ns);
}

/* With the price of each probe, and of those in each function, where it is known of any, and for --help-reports. */
static int choose_columns(const struct statistics_row *rows, size_t count,
			  struct report_table *table)
{
	bool priced = !count, inside = !count;
	struct report_column *more;

	for (size_t i = 0; i < count; i++) {
		priced |= rows[i].cpu_ns != 0;
		inside |= rows[i].probes_inside_ns && knows_inside(&rows[i]);
	}
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	if (!priced && !inside)
		return 0;
	table->made_columns = calloc(COLUMN_COUNT + MORE_COLUMNS, sizeof(*table->made_columns));
	if (!table->made_columns)
		return -ENOMEM;
	memcpy(table->made_columns, columns, sizeof(columns));
	more = table->made_columns + COLUMN_NAME;
	if (priced)
		*more++ = overhead_column;
	if (inside)
		*more++ = inside_column;
	*more++ = columns[COLUMN_NAME];
	table->columns = table->made_columns;
	table->column_count = (size_t)(more - table->made_columns);
	return 0;
}

/* Why cells may be empty. */
static const char *empty_cells_note(const struct statistics_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].buckets)
			return "Functions without times: the end of none of their calls was seen; "
			       "those "
			       "without median were only counted, see the report distribution.";
	return "Functions without times: the end of none of their calls was seen.";
}

int report_functions_fill(const struct statistics_row *rows, size_t count, u64 window_start_ns,
			  struct report_table *table, struct err *err)
{
	_cleanup_free_ const struct statistics_row **by_name = calloc(count + 1, sizeof(*by_name));
	_cleanup_free_ const struct statistics_row **by_time = calloc(count + 1, sizeof(*by_time));
	_cleanup_text_ struct text name = {0};
	struct whole whole = {.window_start_ns = window_start_ns};
	int result = by_name && by_time ? choose_columns(rows, count, table) : -ENOMEM;

	table->title = "Functions, by the time in them";
	table->empty = "No calls were recorded.";
	table->empty_cells = empty_cells_note(rows, count);
	for (size_t i = 0; i < count && result == 0; i++) {
		by_name[i] = by_time[i] = &rows[i];
		whole.all_ns += (double)rows[i].total_ns;
	}
	if (result == 0) {
		qsort(by_name, count, sizeof(*by_name), compare_by_name);
		qsort(by_time, count, sizeof(*by_time), statistics_compare_by_time);
	}
	for (size_t i = 0; i < count && result == 0; i++) {
		text_clear(&name);
		result = shown_name(by_name, count, by_time[i], &name);
		if (result == 0)
			result = add_row(table, by_time[i], text_string(&name), &whole);
	}
	return result < 0 ? err_errno(err, result, "can't make the report functions") : 0;
}

/* What the times of stepped functions contain, as it was measured when they were recorded. */
static int add_marked_note(struct report_table *table, const struct view_survey *survey)
{
	const char *step_ns = NULL;

	for (size_t i = 0; i < survey->attribute_count; i++)
		if (!strcmp(survey->attributes[i].key, "single step (ns)"))
			step_ns = survey->attributes[i].value;
	if (asprintf(&table->marked_note,
		     "the kernel single-steps its first instruction: each of its times contains "
		     "that step, about %s ns here",
		     step_ns ? step_ns : "?") < 0)
		table->marked_note = NULL;
	if (asprintf(&table->marked_brief,
		     step_ns ? "with a kernel's step, about %.3g us each"
			     : "with a kernel's step each",
		     step_ns ? strtod(step_ns, NULL) / 1e3 : 0) < 0)
		table->marked_brief = NULL;
	return table->marked_note && table->marked_brief ? 0 : -ENOMEM;
}

static void add_costs(struct view *view, struct statistics *statistics)
{
	size_t count;
	const struct record_header *const *costs = view_facts(view, KIND_probe_cost, &count);

	for (size_t i = 0; i < count; i++)
		if (costs[i])
			statistics_add_cost(statistics, view,
					    (const struct record_probe_cost *)costs[i]);
}

struct run {
	struct view *view;
	struct statistics *statistics;
};

static void run_free(void *data)
{
	struct run *run = data;

	statistics_free(run->statistics);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;
	const struct statistics_row *rows;
	size_t count;
	int result;

	add_costs(run->view, run->statistics);
	result = statistics_finish(run->statistics, &rows, &count, err);
	if (result == 0)
		result = report_functions_fill(rows, count, view_survey(run->view)->window_start_ns,
					       table, err);
	return result < 0 ? result : add_marked_note(table, view_survey(run->view));
}

int report_functions_begin(struct view *view, const struct report_request *request,
			   struct report_table *table, struct report_run *ret_run, struct err *err)
{
	struct run *run = calloc(1, sizeof(*run));
	int result;

	(void)table;
	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	run->view = view;
	*ret_run = (struct report_run){.data = run, .fill = run_fill, .free = run_free};
	result = statistics_create(MEMORY_BYTES, &run->statistics, err);
	ret_run->part = (struct view_part){&statistics_sink, run->statistics};
	return result;
}
