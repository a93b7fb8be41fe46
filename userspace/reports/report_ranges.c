/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reports nvtx_pushpop_trace, nvtx_gpu_proj_trace and nvtx_gpu_proj_sum: ranges of threads, and what of GPUs was launched in
 * them: from where the first of it began to where the last of it ended. One run over the events; what is kept grows with the ranges
 * alone. That a range was still open when the window closed does not say when it ended: its own duration is not known then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "reports/ranges.h"
#include "reports/report_table.h"
#include "reports/statistics.h"

#define MEMORY_BYTES (32 << 20) /* of durations; beyond it they are sorted in files */
#define STYLE	     "PushPop"

/* What was launched in a range. */
struct projection {
	u64 first_ns, last_ns;
	u64 launch_count; /* 0: nothing */
};

/* What lies in a range right away, of those that the report has. */
struct children {
	u64 ns;
	u32 count;
};

struct run {
	const struct view_survey *survey;
	const struct range_report *report;
	u64 start_ns;
	struct ranges ranges;
	struct projection *projections; /* by place of the range */
	size_t projection_count, projection_capacity;
	struct children *children; /* the same */
	u64 *launched;		   /* bit n - 1: something of launch n has been seen */
	size_t launched_capacity;
	struct text text;
};

typedef int fill_table(struct run *run, struct report_table *table, struct err *err);

struct range_report {
	const char *name, *title;
	bool projected; /* has those only that something was launched in */
	fill_table *fill;
	const struct report_column *columns;
	size_t column_count;
};

/* ---- the run ---- */

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;
	u64 end_ns;

	run->survey = survey;
	view_time_range(survey, &run->start_ns, &end_ns);
	return ranges_open(&run->ranges, view, err);
}

static bool is_operation(const struct view_event *event)
{
	return event->kind->number == KIND_kernel || event->kind->number == KIND_copy ||
	       event->kind->number == KIND_set;
}

static void add_operation(struct projection *projection, const struct view_event *event,
			  bool is_first)
{
	if (!projection->launch_count || event->ts < projection->first_ns)
		projection->first_ns = event->ts;
	if (event->end > projection->last_ns)
		projection->last_ns = event->end;
	projection->launch_count += is_first;
}

/* Is it the first that is seen of its launch? As nsys counts them, all kernels of a graph that is launched are one operation.
 * -ENOMEM. */
static int note_launch(struct run *run, u64 launch)
{
	size_t place = (launch - 1) / 64, before = run->launched_capacity;
	u64 bit = 1ULL << (launch - 1) % 64;
	bool is_first;

	if (array_reserve(&run->launched, &run->launched_capacity, place + 1) < 0)
		return -ENOMEM;
	if (run->launched_capacity > before)
		memset(run->launched + before, 0,
		       (run->launched_capacity - before) * sizeof(*run->launched));
	is_first = !(run->launched[place] & bit);
	run->launched[place] |= bit;
	return is_first;
}

static int project(struct run *run, const struct view_event *event)
{
	const struct view_cause *cause = event->cause;
	const u32 *places = NULL;
	int is_first;
	s64 count;

	if (!cause || !run->report->projected)
		return 0;
	is_first = note_launch(run, cause->number);
	count = ranges_around(&run->ranges, cause->row_index, cause->ts, cause->ts + cause->dur,
			      &places);
	if (count < 0 ||
	    array_reserve(&run->projections, &run->projection_capacity, run->ranges.count + 1) < 0)
		return -ENOMEM;
	while (run->projection_count < run->ranges.count)
		run->projections[run->projection_count++] = (struct projection){0};
	for (s64 i = 0; i < count; i++)
		add_operation(&run->projections[places[i]], event, is_first);
	return 0;
}

static int run_event(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;

	if (is_operation(event) ? project(run, event) < 0 : ranges_add(&run->ranges, event) < 0)
		return err_errno(err, -ENOMEM, "can't make the report %s", run->report->name);
	return 0;
}

/* Does the report have it? */
static bool is_wanted(const struct run *run, size_t place)
{
	if (!run->report->projected)
		return true;
	return place < run->projection_count && run->projections[place].launch_count;
}

static int count_children(struct run *run)
{
	run->children = calloc(run->ranges.count + 1, sizeof(*run->children));
	if (!run->children)
		return -ENOMEM;
	for (size_t i = 0; i < run->ranges.count; i++) {
		const struct range *range = &run->ranges.items[i];

		if (range->parent == RANGES_NONE || !is_wanted(run, i))
			continue;
		run->children[range->parent].count++;
		run->children[range->parent].ns += range->open ? 0 : range->end - range->ts;
	}
	return 0;
}

/* ---- cells that traces have in common ---- */

static const struct range *range_at(const struct run *run, size_t place)
{
	return &run->ranges.items[place];
}

static u64 since_start(const struct run *run, u64 ts)
{
	return ts > run->start_ns ? ts - run->start_ns : 0;
}

/* ":1:4:5", the outermost first. */
static void append_stack(struct run *run, size_t place, struct text *text)
{
	const struct range *range = range_at(run, place);
	size_t depth = range->level + 1UL;
	u32 *numbers = calloc(depth, sizeof(*numbers));

	if (!numbers) {
		text->failed = true;
		return;
	}
	for (size_t i = depth; i; i--) {
		numbers[i - 1] = range->number;
		range = range->parent == RANGES_NONE ? range : range_at(run, range->parent);
	}
	for (size_t i = 0; i < depth; i++)
		text_appendf(text, ":%u", numbers[i]);
	free(numbers);
}

static int fill_text(struct text *text, struct report_cell *cell)
{
	return text->failed ? -ENOMEM : report_cell_text(cell, text_string(text));
}

static void fill_thread(const struct run *run, const struct range *range, struct report_cell *pid,
			struct report_cell *tid)
{
	report_cell_count(pid, run->survey->rows[range->row].pid);
	report_cell_count(tid, run->survey->rows[range->row].tid);
}

/* Number of children, its own number and that of its parent, which stand beside each other, and all numbers around it. */
static int fill_place(struct run *run, size_t place, struct report_cell *cells)
{
	const struct range *range = range_at(run, place);

	report_cell_count(&cells[0], run->children[place].count);
	report_cell_count(&cells[1], range->number);
	if (range->parent != RANGES_NONE)
		report_cell_count(&cells[2], range_at(run, range->parent)->number);
	text_clear(&run->text);
	append_stack(run, place, &run->text);
	return fill_text(&run->text, &cells[3]);
}

/* ---- nvtx_pushpop_trace ---- */

enum {
	TRACE_START,
	TRACE_END,
	TRACE_DURATION,
	TRACE_CHILDREN,
	TRACE_REST,
	TRACE_NAME,
	TRACE_PID,
	TRACE_TID,
	TRACE_LEVEL,
	TRACE_PLACE,
	TRACE_TREE = TRACE_PLACE + 4
};

/* clang-format off */
static const struct report_column trace_columns[] = {
	{"Start (ns)",       REPORT_COUNT,   0},
	{"End (ns)",         REPORT_COUNT,   0},
	{"Duration (ns)",    REPORT_COUNT,   0},
	{"DurChild (ns)",    REPORT_COUNT,   0},
	{"DurNonChild (ns)", REPORT_DECIMAL, 0}, /* less than 0, where those in it overlap */
	{"Name",             REPORT_NAME,    0},
	{"PID",              REPORT_NUMBER,  0},
	{"TID",              REPORT_NUMBER,  0},
	{"Lvl",              REPORT_COUNT,   0},
	{"NumChild",         REPORT_COUNT,   0},
	{"RangeId",          REPORT_NUMBER,  0},
	{"ParentId",         REPORT_NUMBER,  0},
	{"RangeStack",       REPORT_TEXT,    0},
	{"NameTree",         REPORT_NAME,    0},
};
/* clang-format on */

static int fill_tree(struct run *run, const struct range *range, struct report_cell *cell)
{
	text_clear(&run->text);
	for (u32 i = 0; i < range->level; i++)
		text_append(&run->text, "--");
	text_append(&run->text, ranges_name(&run->ranges, range));
	return fill_text(&run->text, cell);
}

static int fill_trace_row(struct run *run, size_t place, struct report_cell *cells)
{
	const struct range *range = range_at(run, place);
	u64 children_ns = run->children[place].ns, dur = range->end - range->ts;

	report_cell_count(&cells[TRACE_START], since_start(run, range->ts));
	report_cell_count(&cells[TRACE_CHILDREN], children_ns);
	if (!range->open) {
		report_cell_count(&cells[TRACE_END], since_start(run, range->end));
		report_cell_count(&cells[TRACE_DURATION], dur);
		report_cell_decimal(&cells[TRACE_REST], (double)(s64)(dur - children_ns));
	}
	fill_thread(run, range, &cells[TRACE_PID], &cells[TRACE_TID]);
	report_cell_count(&cells[TRACE_LEVEL], range->level);
	if (report_cell_text(&cells[TRACE_NAME], ranges_name(&run->ranges, range)) < 0 ||
	    fill_place(run, place, &cells[TRACE_PLACE]) < 0)
		return -ENOMEM;
	return fill_tree(run, range, &cells[TRACE_TREE]);
}

/* ---- nvtx_gpu_proj_trace ---- */

enum {
	PROJECTED_NAME,
	PROJECTED_START,
	PROJECTED_DURATION,
	PROJECTED_ORIGINAL_START,
	PROJECTED_ORIGINAL_DURATION,
	PROJECTED_STYLE,
	PROJECTED_PID,
	PROJECTED_TID,
	PROJECTED_OPERATIONS,
	PROJECTED_LEVEL,
	PROJECTED_PLACE
};

/* clang-format off */
static const struct report_column projected_columns[] = {
	{"Name",                    REPORT_NAME,   0},
	{"Projected Start (ns)",    REPORT_COUNT,  0},
	{"Projected Duration (ns)", REPORT_COUNT,  0},
	{"Orig Start (ns)",         REPORT_COUNT,  0},
	{"Orig Duration (ns)",      REPORT_COUNT,  0},
	{"Style",                   REPORT_TEXT,   0},
	{"PID",                     REPORT_NUMBER, 0},
	{"TID",                     REPORT_NUMBER, 0},
	{"NumGPUOps",               REPORT_COUNT,  0},
	{"Lvl",                     REPORT_COUNT,  0},
	{"NumChild",                REPORT_COUNT,  0},
	{"RangeId",                 REPORT_NUMBER, 0},
	{"ParentId",                REPORT_NUMBER, 0},
	{"RangeStack",              REPORT_TEXT,   0},
};
/* clang-format on */

static int fill_projected_row(struct run *run, size_t place, struct report_cell *cells)
{
	const struct projection *projection = &run->projections[place];
	const struct range *range = range_at(run, place);

	report_cell_count(&cells[PROJECTED_START], since_start(run, projection->first_ns));
	report_cell_count(&cells[PROJECTED_DURATION], projection->last_ns - projection->first_ns);
	report_cell_count(&cells[PROJECTED_ORIGINAL_START], since_start(run, range->ts));
	if (!range->open)
		report_cell_count(&cells[PROJECTED_ORIGINAL_DURATION], range->end - range->ts);
	fill_thread(run, range, &cells[PROJECTED_PID], &cells[PROJECTED_TID]);
	report_cell_count(&cells[PROJECTED_OPERATIONS], projection->launch_count);
	report_cell_count(&cells[PROJECTED_LEVEL], range->level);
	if (report_cell_text(&cells[PROJECTED_NAME], ranges_name(&run->ranges, range)) < 0 ||
	    report_cell_text(&cells[PROJECTED_STYLE], STYLE) < 0)
		return -ENOMEM;
	return fill_place(run, place, &cells[PROJECTED_PLACE]);
}

static int fill_traces(struct run *run, struct report_table *table, struct err *err)
{
	table->streamed = true;
	for (size_t i = 0; i < run->ranges.count; i++) {
		struct report_row *row;

		if (!is_wanted(run, i))
			continue;
		row = report_table_add(table);
		if (!row || (run->report->projected ? fill_projected_row(run, i, row->cells)
						    : fill_trace_row(run, i, row->cells)) < 0)
			return err_errno(err, -ENOMEM, "can't make the report %s",
					 run->report->name);
	}
	return 0;
}

/* ---- nvtx_gpu_proj_sum ---- */

enum {
	SUM_NAME,
	SUM_STYLE,
	SUM_PROJECTED,
	SUM_ORIGINAL,
	SUM_COUNT,
	SUM_AVERAGE,
	SUM_MEDIAN,
	SUM_MINIMUM,
	SUM_MAXIMUM,
	SUM_DEVIATION,
	SUM_OPERATIONS,
	SUM_AVERAGE_OPERATIONS,
	SUM_AVERAGE_LEVEL,
	SUM_AVERAGE_CHILDREN
};

/* clang-format off */
static const struct report_column sum_columns[] = {
	{"Range",                 REPORT_NAME,    0},
	{"Style",                 REPORT_TEXT,    0},
	{"Total Proj Time (ns)",  REPORT_COUNT,   0},
	{"Total Range Time (ns)", REPORT_COUNT,   0},
	{"Range Instances",       REPORT_COUNT,   0},
	{"Proj Avg (ns)",         REPORT_DECIMAL, 1},
	{"Proj Med (ns)",         REPORT_DECIMAL, 1},
	{"Proj Min (ns)",         REPORT_COUNT,   0},
	{"Proj Max (ns)",         REPORT_COUNT,   0},
	{"Proj StdDev (ns)",      REPORT_DECIMAL, 1},
	{"Total GPU Ops",         REPORT_COUNT,   0},
	{"Avg GPU Ops",           REPORT_DECIMAL, 1},
	{"Avg Range Lvl",         REPORT_DECIMAL, 1},
	{"Avg Num Child",         REPORT_DECIMAL, 1},
};
/* clang-format on */

/* All ranges of a name. */
struct sum {
	u64 original_ns, ended_count, launch_count, level_count, child_count;
	const struct statistics_row *projected;
};

static int sum_up(struct run *run, struct statistics *statistics, struct sum *sums, struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < run->ranges.count && result == 0; i++) {
		const struct range *range = range_at(run, i);
		const struct projection *projection;
		struct sum *sum;
		u32 number;

		if (!is_wanted(run, i))
			continue;
		projection = &run->projections[i];
		result = statistics_function(statistics, ranges_name(&run->ranges, range), "",
					     &number, err);
		if (result < 0)
			break;
		sum = &sums[number];
		sum->original_ns += range->open ? 0 : range->end - range->ts;
		sum->ended_count += !range->open;
		sum->launch_count += projection->launch_count;
		sum->level_count += range->level;
		sum->child_count += run->children[i].count;
		result = statistics_add(statistics, number,
					projection->last_ns - projection->first_ns, err);
	}
	return result;
}

static int compare_sums(const void *a, const void *b)
{
	const struct sum *left = a, *right = b;

	return statistics_compare_by_time(&left->projected, &right->projected);
}

static int add_sum(const struct sum *sum, struct report_table *table)
{
	const struct statistics_row *projected = sum->projected;
	struct report_row *row = report_table_add(table);
	struct report_cell *cells = row ? row->cells : NULL;
	double count = projected->call_count;

	if (!row)
		return -ENOMEM;
	report_cell_count(&cells[SUM_PROJECTED], projected->total_ns);
	if (sum->ended_count)
		report_cell_count(&cells[SUM_ORIGINAL], sum->original_ns);
	report_cell_count(&cells[SUM_COUNT], projected->call_count);
	report_cells_figures(&cells[SUM_AVERAGE], projected);
	report_cell_count(&cells[SUM_OPERATIONS], sum->launch_count);
	report_cell_decimal(&cells[SUM_AVERAGE_OPERATIONS], sum->launch_count / count);
	report_cell_decimal(&cells[SUM_AVERAGE_LEVEL], sum->level_count / count);
	report_cell_decimal(&cells[SUM_AVERAGE_CHILDREN], sum->child_count / count);
	if (report_cell_text(&cells[SUM_STYLE], STYLE) < 0)
		return -ENOMEM;
	return report_cell_text(&cells[SUM_NAME], projected->name);
}

static int fill_sums(struct run *run, struct report_table *table, struct err *err)
{
	_cleanup_free_ struct sum *sums = calloc(run->ranges.names.count + 1, sizeof(*sums));
	const struct statistics_row *rows = NULL;
	struct statistics *statistics = NULL;
	size_t count = 0;
	int result;

	if (!sums)
		return err_errno(err, -ENOMEM, "can't make the report %s", run->report->name);
	result = statistics_create(MEMORY_BYTES, &statistics, err);
	if (result == 0)
		result = sum_up(run, statistics, sums, err);
	if (result == 0)
		result = statistics_finish(statistics, &rows, &count, err);
	for (size_t i = 0; i < count; i++)
		sums[i].projected = &rows[i];
	if (count)
		qsort(sums, count, sizeof(*sums), compare_sums);
	for (size_t i = 0; i < count && result == 0; i++)
		if (add_sum(&sums[i], table) < 0)
			result = err_errno(err, -ENOMEM, "can't make the report %s",
					   run->report->name);
	statistics_free(statistics);
	return result;
}

/* ---- the reports ---- */

static const struct range_report range_reports[] = {
	{"nvtx_pushpop_trace", "NVTX Push/Pop Range Trace", false, fill_traces, trace_columns,
	 ARRAY_SIZE(trace_columns)},
	{"nvtx_gpu_proj_trace", "NVTX GPU Projection Trace", true, fill_traces, projected_columns,
	 ARRAY_SIZE(projected_columns)},
	{"nvtx_gpu_proj_sum", "NVTX GPU Projection Summary", true, fill_sums, sum_columns,
	 ARRAY_SIZE(sum_columns)},
};

static const struct range_report *find_report(const char *name)
{
	const struct range_report *report = range_reports;

	while (strcmp(report->name, name) != 0)
		report++;
	return report;
}

int report_ranges_make(struct view *view, const struct report_request *request,
		       struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.open = run_open, .span = run_event, .point = run_event};
	struct run run = {.report = find_report(request->report->name)};
	int result = view_run(view, &sink, &run, err);

	table->title = run.report->title;
	table->columns = run.report->columns;
	table->column_count = run.report->column_count;
	if (result == 0 && count_children(&run) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report %s", run.report->name);
	if (result == 0)
		result = run.report->fill(&run, table, err);
	ranges_free(&run.ranges);
	text_free(&run.text);
	free(run.projections);
	free(run.children);
	free(run.launched);
	return result;
}
