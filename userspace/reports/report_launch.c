/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "launch" (cuda_kern_exec_sum of nsys): for each thread, device, API call and kernel how long the call
 * took (A), how long the kernel queued (Q, where it did not begin before the call had returned), how long it ran
 * (K), and from the start of the call to the end of both (T).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "reports/report_kernel_name.h"
#include "reports/report_table.h"
#include "reports/statistics.h"

#define REPORT	     "cuda_kern_exec_sum"
#define MEMORY_BYTES (8 << 20) /* of each of the values */
#define VALUES	     4
#define IDS	     3

/* clang-format off */
#define VALUE_COLUMNS(letter)                        \
	{letter "Avg (ns)", REPORT_DECIMAL, 1},      \
	{letter "Med (ns)", REPORT_DECIMAL, 1},      \
	{letter "Min (ns)", REPORT_COUNT, 0},        \
	{letter "Max (ns)", REPORT_COUNT, 0},        \
	{letter "StdDev (ns)", REPORT_DECIMAL, 1}
static const struct report_column columns[] = {
	{"PID", REPORT_NUMBER, 0}, {"TID", REPORT_NUMBER, 0}, {"DevId", REPORT_NUMBER, 0},
	{"Count", REPORT_COUNT, 0}, {"QCount", REPORT_COUNT, 0},
	VALUE_COLUMNS("T"), VALUE_COLUMNS("A"), VALUE_COLUMNS("Q"), VALUE_COLUMNS("K"),
	{"API Name", REPORT_NAME, 0}, {"Kernel Name", REPORT_NAME, 0},
};
/* clang-format on */
enum { COLUMN_COUNTED = IDS, COLUMN_QUEUED, COLUMN_VALUES, VALUE_WIDTH = 5 };
enum { COLUMN_API = COLUMN_VALUES + VALUES * VALUE_WIDTH, COLUMN_KERNEL };

static const char *const value_keys[VALUES] = {"launch_to_end_ns", "cause_dur_ns", "queue_ns",
					       "dur"};
#define VALUE_QUEUE 2

struct group {
	u32 ids[IDS];
};

struct run {
	const struct report_request *request;
	const struct view *view;
	struct kernel_names names;
	struct text calls; /* names of an API call and of a kernel, a line each */
	const struct view_key *keys[VALUES], *device;
	struct statistics *values[VALUES]; /* the groups have the same number in each */
	struct group *groups;
	size_t group_count, group_capacity;
};

static int no_memory(struct err *err)
{
	return err_errno(err, -ENOMEM, "can't make the report " REPORT);
}

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	const struct schema_kind *kind = schema_kind(KIND_kernel);
	struct run *run = data;
	int result;

	run->view = view;
	result = kernel_names_init(&run->names, view, run->request, err);
	if (result == 0)
		result = view_key(view, REPORT, kind, "device_number", &run->device, err);
	for (unsigned i = 0; i < VALUES && result == 0; i++)
		result = view_key(view, REPORT, kind, value_keys[i], &run->keys[i], err);
	return result;
}

/* Its statistics have the name "API call, newline, kernel". */
static int find_group(struct run *run, const struct view_event *event, u32 *ret_number,
		      struct err *err)
{
	const struct group group = {
		.ids = {event->cause->pid, event->cause->tid,
			view_value(run->view, run->device, event).number},
	};
	const char *kernel = kernel_names_of(&run->names, event);
	char ids[64];
	int result;

	text_clear(&run->calls);
	text_append(&run->calls, event->cause->name);
	text_append_char(&run->calls, '\n');
	text_append(&run->calls, kernel ? kernel : "");
	if (!kernel || run->calls.failed)
		return no_memory(err);
	snprintf(ids, sizeof(ids), "%u %u %u", group.ids[0], group.ids[1], group.ids[2]);
	result =
		statistics_function(run->values[0], text_string(&run->calls), ids, ret_number, err);
	if (result < 0 || *ret_number < run->group_count)
		return result;
	for (unsigned i = 1; i < VALUES && result == 0; i++)
		result = statistics_function(run->values[i], text_string(&run->calls), ids,
					     ret_number, err);
	if (result < 0)
		return result;
	if (array_reserve(&run->groups, &run->group_capacity, run->group_count + 1) < 0)
		return no_memory(err);
	run->groups[run->group_count++] = group;
	return 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	int result = 0;
	u32 number;

	if (event->kind->number != KIND_kernel || !event->cause || event->open)
		return 0;
	result = find_group(run, event, &number, err);
	for (unsigned i = 0; i < VALUES && result == 0; i++) {
		struct view_value value = view_value(run->view, run->keys[i], event);

		if (value.type == VALUE_U64)
			result = statistics_add(run->values[i], number, value.number, err);
		else
			statistics_add_untimed(run->values[i], number);
	}
	return result;
}

/* ---- rows ---- */

static void fill_value(const struct statistics_row *value, struct report_cell *cells)
{
	if (value->timed_count)
		report_cells_figures(cells, value);
	else /* as nsys has it, where all else is None */
		report_cell_decimal(&cells[4], value->deviation_ns);
}

static int fill_names(const char *calls, struct report_cell *cells)
{
	size_t length = strcspn(calls, "\n");
	_cleanup_free_ char *api = strndup(calls, length);

	if (!api || report_cell_text(&cells[COLUMN_API], api) < 0)
		return -ENOMEM;
	return report_cell_text(&cells[COLUMN_KERNEL], calls + length + 1);
}

static int add_row(const struct group *group, const struct statistics_row *const *values,
		   size_t place, struct report_table *table)
{
	struct report_row *row = report_table_add(table);

	if (!row)
		return -ENOMEM;
	for (unsigned i = 0; i < IDS; i++)
		report_cell_count(&row->cells[i], group->ids[i]);
	report_cell_count(&row->cells[COLUMN_COUNTED], values[0][place].call_count);
	report_cell_count(&row->cells[COLUMN_QUEUED], values[VALUE_QUEUE][place].timed_count);
	for (unsigned i = 0; i < VALUES; i++)
		fill_value(&values[i][place], &row->cells[COLUMN_VALUES + i * VALUE_WIDTH]);
	return fill_names(values[0][place].name, row->cells);
}

static int compare_rows(const void *a, const void *b)
{
	const struct report_row *left = a, *right = b;
	double difference =
		left->cells[COLUMN_VALUES].decimal - right->cells[COLUMN_VALUES].decimal;

	if (difference != 0)
		return difference < 0 ? 1 : -1;
	return strcmp(left->cells[COLUMN_KERNEL].text, right->cells[COLUMN_KERNEL].text);
}

static int fill_table(struct run *run, struct report_table *table, struct err *err)
{
	const struct statistics_row *values[VALUES];
	int result = 0;
	size_t count;

	table->title = "CUDA Kernel Launch & Exec Time Summary";
	table->columns = columns;
	table->column_count = ARRAY_SIZE(columns);
	for (unsigned i = 0; i < VALUES && result == 0; i++)
		result = statistics_finish(run->values[i], &values[i], &count, err);
	for (size_t i = 0; i < run->group_count && result == 0; i++)
		if (add_row(&run->groups[i], values, i, table) < 0)
			result = no_memory(err);
	if (result == 0 && table->row_count)
		qsort(table->rows, table->row_count, sizeof(*table->rows), compare_rows);
	return result;
}

int report_launch_make(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run run = {.request = request};
	int result = 0;

	for (unsigned i = 0; i < VALUES && result == 0; i++)
		result = statistics_create(MEMORY_BYTES, &run.values[i], err);
	if (result == 0)
		result = view_run(view, &sink, &run, err);
	if (result == 0)
		result = fill_table(&run, table, err);
	for (unsigned i = 0; i < VALUES; i++)
		statistics_free(run.values[i]);
	free(run.groups);
	text_free(&run.calls);
	kernel_names_free(&run.names);
	return result;
}
