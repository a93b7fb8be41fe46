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
#include "view/report_table.h"
#include "view/statistics.h"

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
	const char *api, *kernel; /* the view's */
};

struct run {
	const struct view *view;
	const struct view_key *keys[VALUES], *device;
	struct statistics *values[VALUES]; /* the groups have the same number in each */
	struct group *groups;
	size_t group_count, group_capacity;
};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	const struct schema_kind *kind = schema_kind(KIND_kernel);
	struct run *run = data;

	run->view = view;
	run->device = view_key(view, kind, "device_number");
	for (unsigned i = 0; i < VALUES; i++) {
		run->keys[i] = view_key(view, kind, value_keys[i]);
		if (!run->keys[i] || !run->device)
			return err_errno(err, -ENOMEM, "can't make the report launch");
	}
	return 0;
}

static int find_group(struct run *run, const struct view_event *event, u32 *ret_number,
		      struct err *err)
{
	struct view_value device = view_value(run->view, run->device, event);
	const struct group group = {
		.ids = {event->cause->pid, event->cause->tid, device.number},
		.api = event->cause->name,
		.kernel = event->name,
	};
	struct text names _cleanup_text_ = {0};
	char ids[64];
	int result = 0;

	/* A line each: names hold no newline that would make two groups the same. */
	text_appendf(&names, "%s\n%s", group.api, group.kernel);
	snprintf(ids, sizeof(ids), "%u %u %u", group.ids[0], group.ids[1], group.ids[2]);
	for (unsigned i = 0; i < VALUES && result == 0; i++)
		result = statistics_function(run->values[i], text_string(&names), ids, ret_number,
					     err);
	if (result < 0 || *ret_number < run->group_count)
		return result;
	if (array_reserve(&run->groups, &run->group_capacity, run->group_count + 1) < 0)
		return err_errno(err, -ENOMEM, "can't make the report launch");
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
	if (!value->timed_count)
		return;
	report_cell_decimal(&cells[0], value->average_ns);
	report_cell_decimal(&cells[1], value->median_ns);
	report_cell_count(&cells[2], value->minimum_ns);
	report_cell_count(&cells[3], value->maximum_ns);
	report_cell_decimal(&cells[4], value->deviation_ns);
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
	if (report_cell_text(&row->cells[COLUMN_API], group->api) < 0)
		return -ENOMEM;
	return report_cell_text(&row->cells[COLUMN_KERNEL], group->kernel);
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
	table->empty = "No kernels were recorded whose launch was seen.";
	table->empty_cells = "No queue time: the kernels began before their launch had returned.";
	table->columns = columns;
	table->column_count = ARRAY_SIZE(columns);
	for (unsigned i = 0; i < VALUES && result == 0; i++)
		result = statistics_finish(run->values[i], &values[i], &count, err);
	for (size_t i = 0; i < run->group_count && result == 0; i++)
		if (add_row(&run->groups[i], values, i, table) < 0)
			result = err_errno(err, -ENOMEM, "can't make the report launch");
	if (result == 0 && table->row_count)
		qsort(table->rows, table->row_count, sizeof(*table->rows), compare_rows);
	return result;
}

int report_launch_make(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run run = {0};
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
	return result;
}
