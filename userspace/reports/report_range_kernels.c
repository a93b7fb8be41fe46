/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report nvtx_kern_sum: GPU time of kernels by the ranges that they were launched in. As nsys has it, a kernel counts for
 * every range of the launching thread around the whole call, and where ranges of one name lie in each other its time counts for
 * each of them, while the kernel is one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sorter.h"
#include "reports/ranges.h"
#include "reports/report_kernel_name.h"
#include "reports/report_table.h"
#include "reports/statistics.h"

#define MEMORY_BYTES \
	(32          \
	 << 20) /* of durations, and of pairs of group and range; beyond it they are sorted in files */

/* clang-format off */
static const struct report_column columns[] = {
	{"NVTX Range",      REPORT_TEXT,    0},
	{"Style",           REPORT_TEXT,    0},
	{"PID",             REPORT_NUMBER,  0},
	{"TID",             REPORT_NUMBER,  0},
	{"NVTX Inst",       REPORT_COUNT,   0},
	{"Kern Inst",       REPORT_COUNT,   0},
	{"Total Time (ns)", REPORT_COUNT,   0},
	{"Avg (ns)",        REPORT_DECIMAL, 1},
	{"Med (ns)",        REPORT_DECIMAL, 1},
	{"Min (ns)",        REPORT_COUNT,   0},
	{"Max (ns)",        REPORT_COUNT,   0},
	{"StdDev (ns)",     REPORT_DECIMAL, 1},
	{"Kernel Name",     REPORT_NAME,    0},
};
/* clang-format on */

enum {
	COLUMN_RANGE,
	COLUMN_STYLE,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_RANGES,
	COLUMN_KERNELS,
	COLUMN_TOTAL,
	COLUMN_AVERAGE,
	COLUMN_MEDIAN,
	COLUMN_MINIMUM,
	COLUMN_MAXIMUM,
	COLUMN_DEVIATION,
	COLUMN_KERNEL
};

/* What a row stands for; its number is that of its statistics. */
struct group {
	u32 name;   /* of the range; RANGES_NONE: in no range */
	u32 row;    /* of the launching thread; RANGES_NONE: not known */
	u32 kernel; /* its name */
	u32 last_range;
	u64 range_count;
	u64 kernel_count, last_kernel;
	const struct statistics_row *statistics;
};

struct run {
	const struct report_request *request;
	const struct view_survey *survey;
	struct ranges ranges;
	struct kernel_names names;
	struct string_table kernels; /* their names */
	struct map numbers; /* (range name and thread, kernel name) -> number of the group */
	struct group *groups;
	size_t group_count, group_capacity;
	struct statistics *statistics;
	struct sorter *instances; /* (group, range) */
	u64 kernel_count;
};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;
	int result = ranges_open(&run->ranges, view, err);

	run->survey = survey;
	return result < 0 ? result : kernel_names_init(&run->names, view, run->request, err);
}

static int add_group(struct run *run, const struct group *group, struct err *err)
{
	char key[64];
	u32 number;
	int result;

	snprintf(key, sizeof(key), "%u %u %u", group->name, group->row, group->kernel);
	result = statistics_function(run->statistics, key, "", &number, err);
	if (result < 0)
		return result;
	if (array_reserve(&run->groups, &run->group_capacity, run->group_count + 1) < 0 ||
	    map_set(&run->numbers, (u64)group->name << 32 | group->row, group->kernel, number) < 0)
		return err_errno(err, -ENOMEM, "can't make the report %s",
				 run->request->report->name);
	run->groups[run->group_count++] = *group;
	return 0;
}

/* A kernel in a range, or in none: place is RANGES_NONE. */
static int add_kernel(struct run *run, const struct group *group, u32 place, u64 dur,
		      struct err *err)
{
	u64 *there = map_find(&run->numbers, (u64)group->name << 32 | group->row, group->kernel);
	u64 number = there ? *there : run->group_count;
	int result = there ? 0 : add_group(run, group, err);
	struct group *to;

	if (result < 0)
		return result;
	to = &run->groups[number];
	if (to->last_kernel != run->kernel_count)
		to->kernel_count++;
	to->last_kernel = run->kernel_count;
	/* Kernels of a range come together but for those of other streams. */
	if (to->last_range != place)
		result = sorter_add(run->instances, number, place, err);
	to->last_range = place;
	return result < 0 ? result : statistics_add(run->statistics, number, dur, err);
}

static int kernel_span(struct run *run, const struct view_event *event, struct err *err)
{
	const struct view_cause *cause = event->cause;
	const char *name = kernel_names_alone(&run->names, event);
	s64 kernel = string_table_add(&run->kernels, name, strlen(name)), count = 0;
	const u32 *places = NULL;
	struct group group = {.name = RANGES_NONE,
			      .row = cause ? cause->row_index : RANGES_NONE,
			      .kernel = kernel,
			      .last_range = RANGES_NONE};
	int result = 0;

	if (cause)
		count = ranges_around(&run->ranges, group.row, cause->ts, cause->ts + cause->dur,
				      &places);
	if (kernel < 0 || count < 0)
		return err_errno(err, -ENOMEM, "can't make the report %s",
				 run->request->report->name);
	run->kernel_count++;
	if (!count)
		return add_kernel(run, &group, RANGES_NONE, event->dur, err);
	for (s64 i = 0; i < count && result == 0; i++) {
		group.name = run->ranges.items[places[i]].name;
		result = add_kernel(run, &group, places[i], event->dur, err);
	}
	return result;
}

static int run_event(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;

	if (event->kind->number == KIND_kernel)
		return event->open ? 0 : kernel_span(run, event, err);
	if (ranges_add(&run->ranges, event) < 0)
		return err_errno(err, -ENOMEM, "can't make the report %s",
				 run->request->report->name);
	return 0;
}

/* ---- rows ---- */

static int count_ranges(struct run *run, struct err *err)
{
	struct sorter_pair pair, last = {UINT64_MAX, UINT64_MAX};
	int result = sorter_finish(run->instances, err);

	while (result == 0 && (result = sorter_next(run->instances, &pair, err)) > 0) {
		if (pair.group != last.group || pair.value != last.value)
			run->groups[pair.group].range_count++;
		last = pair;
		result = 0;
	}
	return result;
}

/* What is not known or not there first. */
static int compare_u32(u32 left, u32 right)
{
	if (left == right)
		return 0;
	if (left == RANGES_NONE || right == RANGES_NONE)
		return left == RANGES_NONE ? -1 : 1;
	return left < right ? -1 : 1;
}

static int compare_threads(const struct run *run, u32 left, u32 right)
{
	const struct view_row *rows = run->survey->rows;
	int result;

	if (left == right || left == RANGES_NONE || right == RANGES_NONE)
		return compare_u32(left, right);
	result = compare_u32(rows[left].pid, rows[right].pid);
	return result ? result : compare_u32(rows[left].tid, rows[right].tid);
}

static int compare_groups(const void *a, const void *b, void *data)
{
	const struct group *left = a, *right = b;
	const struct run *run = data;
	char *const *names = run->ranges.names.strings, *const *kernels = run->kernels.strings;
	int result = 0;

	if (left->name != right->name) {
		if (left->name == RANGES_NONE || right->name == RANGES_NONE)
			return compare_u32(left->name, right->name);
		result = strcmp(names[left->name], names[right->name]);
	}
	if (!result)
		result = compare_threads(run, left->row, right->row);
	if (!result && left->statistics->total_ns != right->statistics->total_ns)
		return left->statistics->total_ns < right->statistics->total_ns ? 1 : -1;
	return result ? result : strcmp(kernels[left->kernel], kernels[right->kernel]);
}

static void fill_times(const struct statistics_row *row, struct report_cell *cells)
{
	report_cell_count(&cells[COLUMN_TOTAL], row->total_ns);
	report_cells_figures(&cells[COLUMN_AVERAGE], row);
}

static int add_row(const struct run *run, const struct group *group, struct report_table *table)
{
	struct report_row *row = report_table_add(table);

	if (!row)
		return -ENOMEM;
	if (group->name != RANGES_NONE &&
	    (report_cell_text(&row->cells[COLUMN_RANGE], run->ranges.names.strings[group->name]) <
		     0 ||
	     report_cell_text(&row->cells[COLUMN_STYLE], "PushPop") < 0))
		return -ENOMEM;
	if (group->row != RANGES_NONE) {
		report_cell_count(&row->cells[COLUMN_PID], run->survey->rows[group->row].pid);
		report_cell_count(&row->cells[COLUMN_TID], run->survey->rows[group->row].tid);
	}
	report_cell_count(&row->cells[COLUMN_RANGES], group->range_count);
	report_cell_count(&row->cells[COLUMN_KERNELS], group->kernel_count);
	fill_times(group->statistics, row->cells);
	return report_cell_text(&row->cells[COLUMN_KERNEL], run->kernels.strings[group->kernel]);
}

static int fill_table(struct run *run, struct report_table *table, struct err *err)
{
	const struct statistics_row *rows;
	size_t count;
	int result = statistics_finish(run->statistics, &rows, &count, err);

	if (result == 0)
		result = count_ranges(run, err);
	if (result < 0)
		return result;
	table->title = "NVTX Range Kernel Summary";
	table->columns = columns;
	table->column_count = ARRAY_SIZE(columns);
	for (size_t i = 0; i < run->group_count; i++)
		run->groups[i].statistics = &rows[i];
	if (run->group_count)
		qsort_r(run->groups, run->group_count, sizeof(*run->groups), compare_groups, run);
	/* Without any range there is no summary by range. */
	for (size_t i = 0; i < run->group_count && run->ranges.event_count; i++)
		if (add_row(run, &run->groups[i], table) < 0)
			return err_errno(err, -ENOMEM, "can't make the report %s",
					 run->request->report->name);
	return 0;
}

int report_range_kernels_make(struct view *view, const struct report_request *request,
			      struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.open = run_open, .span = run_event, .point = run_event};
	struct run run = {.request = request};
	int result = statistics_create(MEMORY_BYTES, &run.statistics, err);

	if (result == 0)
		result = sorter_create(MEMORY_BYTES, &run.instances, err);
	if (result == 0)
		result = view_run(view, &sink, &run, err);
	if (result == 0)
		result = fill_table(&run, table, err);
	ranges_free(&run.ranges);
	kernel_names_free(&run.names);
	string_table_free(&run.kernels);
	map_free(&run.numbers);
	free(run.groups);
	statistics_free(run.statistics);
	sorter_free(run.instances);
	return result;
}
