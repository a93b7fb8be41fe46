/* The report "functions": time in each function, with the columns of `nsys stats`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "view/report_table.h"
#include "view/statistics.h"

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

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_SHARE] = {"Time (%)", REPORT_DECIMAL, 1},
	[COLUMN_TOTAL] = {"Total Time (ns)", REPORT_COUNT},
	[COLUMN_CALLS] = {"Num Calls", REPORT_COUNT},
	[COLUMN_AVERAGE] = {"Avg (ns)", REPORT_DECIMAL, 0},
	[COLUMN_MEDIAN] = {"Med (ns)", REPORT_DECIMAL, 0},
	[COLUMN_MINIMUM] = {"Min (ns)", REPORT_COUNT},
	[COLUMN_MAXIMUM] = {"Max (ns)", REPORT_COUNT},
	[COLUMN_DEVIATION] = {"StdDev (ns)", REPORT_DECIMAL, 1},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
};

static int compare_by_time(const void *a, const void *b)
{
	const struct statistics_row *left = *(const struct statistics_row *const *)a;
	const struct statistics_row *right = *(const struct statistics_row *const *)b;
	int names;

	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	if (left->call_count != right->call_count)
		return left->call_count < right->call_count ? 1 : -1;
	names = strcmp(left->name, right->name);
	return names ? names : strcmp(left->binary, right->binary);
}

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

static int add_note(struct report_row *row, const struct statistics_row *function, const char *name)
{
	_cleanup_text_ struct text note = {0};
	u64 untimed = function->call_count - function->timed_count;

	if (!untimed || !function->timed_count)
		return 0;
	text_appendf(&note,
		     "%s: of %llu calls %llu have no duration, since their end was not seen: they "
		     "count, but not in the times",
		     name, (unsigned long long)function->call_count, (unsigned long long)untimed);
	if (note.failed)
		return -ENOMEM;
	row->note = take_pointer(&note.data);
	return 0;
}

static int add_row(struct report_table *table, const struct statistics_row *function,
		   const char *name, double all_ns)
{
	struct report_row *row = report_table_add(table);
	struct report_cell *cells;

	if (!row || report_cell_text(&row->cells[COLUMN_NAME], name) < 0)
		return -ENOMEM;
	cells = row->cells;
	report_cell_count(&cells[COLUMN_CALLS], function->call_count);
	row->marked = function->stepped && function->timed_count;
	if (function->timed_count) {
		report_cell_decimal(&cells[COLUMN_SHARE],
				    all_ns > 0 ? 100.0 * function->total_ns / all_ns : 0);
		report_cell_count(&cells[COLUMN_TOTAL], function->total_ns);
		report_cell_decimal(&cells[COLUMN_AVERAGE], function->average_ns);
		report_cell_decimal(&cells[COLUMN_MEDIAN], function->median_ns);
		report_cell_count(&cells[COLUMN_MINIMUM], function->minimum_ns);
		report_cell_count(&cells[COLUMN_MAXIMUM], function->maximum_ns);
		report_cell_decimal(&cells[COLUMN_DEVIATION], function->deviation_ns);
	}
	return add_note(row, function, name);
}

int report_functions_fill(const struct statistics_row *rows, size_t count,
			  struct report_table *table, struct err *err)
{
	_cleanup_free_ const struct statistics_row **by_name = calloc(count + 1, sizeof(*by_name));
	_cleanup_free_ const struct statistics_row **by_time = calloc(count + 1, sizeof(*by_time));
	_cleanup_text_ struct text name = {0};
	double all_ns = 0;
	int result = by_name && by_time ? 0 : -ENOMEM;

	table->title = "Functions, by the time in them";
	table->empty = "No calls were recorded.";
	table->empty_cells = "Functions without times: the end of none of their calls was seen.";
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	for (size_t i = 0; i < count && result == 0; i++) {
		by_name[i] = by_time[i] = &rows[i];
		all_ns += rows[i].total_ns;
	}
	if (result == 0) {
		qsort(by_name, count, sizeof(*by_name), compare_by_name);
		qsort(by_time, count, sizeof(*by_time), compare_by_time);
	}
	for (size_t i = 0; i < count && result == 0; i++) {
		text_clear(&name);
		result = shown_name(by_name, count, by_time[i], &name);
		if (result == 0)
			result = add_row(table, by_time[i], text_string(&name), all_ns);
	}
	return result < 0 ? err_errno(err, result, "can't make the report functions") : 0;
}

static void statistics_cleanup(struct statistics **statistics)
{
	statistics_free(*statistics);
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
		     "that "
		     "step, about %s ns here",
		     step_ns ? step_ns : "?") < 0)
		table->marked_note = NULL;
	return table->marked_note ? 0 : -ENOMEM;
}

int report_functions_make(struct view *view, const struct report *report,
			  struct report_table *table, struct err *err)
{
	_cleanup_(statistics_cleanup) struct statistics *statistics = NULL;
	const struct statistics_row *rows;
	size_t count;
	int result;

	result = statistics_create(MEMORY_BYTES, &statistics, err);
	if (result == 0)
		result = view_run(view, &statistics_sink, statistics, err);
	if (result == 0)
		result = statistics_finish(statistics, &rows, &count, err);
	if (result == 0)
		result = report_functions_fill(rows, count, table, err);
	if (result == 0)
		result = add_marked_note(table, view_survey(view));
	return result;
}
