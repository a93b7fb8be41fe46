/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Summaries of a value of events by their name, with the titles, columns and order of `nsys stats`: a table of
 * reports. A call inside another one with the same correlation id is the same work: only the outer counts. Shares of calls and of work of GPUs
 * in one table are of the time in which both were recorded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "reports/launch_places.h"
#include "reports/report_kernel_name.h"
#include "reports/report_table.h"
#include "reports/statistics.h"
#include "reports/tally.h"

/* Of values; beyond it they are sorted in a file. */
#define MEMORY_BYTES  (32 << 20)
#define MEGABYTE      1e6
#define SUMMARY_KINDS 5

/* What stands in a column. */
enum cell {
	CELL_SHARE,
	CELL_TOTAL,
	CELL_COUNT,
	CELL_AVERAGE,
	CELL_MEDIAN,
	CELL_MINIMUM,
	CELL_MAXIMUM,
	CELL_DEVIATION,
	CELL_STYLE,
	CELL_GRID,
	CELL_BLOCK,
	CELL_PLACE,  /* only where the stacks of launches are known */
	CELL_SOURCE, /* only where that of some kernel is known */
	CELL_NAME
};

struct summary_column {
	enum cell cell;
	struct report_column column;
};

/* clang-format off */
/* The names of CELL_COUNT and CELL_NAME are the summary's. */
#define TIME_COLUMNS                                              \
	{CELL_SHARE,     {"Time (%)",        REPORT_DECIMAL, 1}}, \
	{CELL_TOTAL,     {"Total Time (ns)", REPORT_COUNT,   0}}, \
	{CELL_COUNT,     {NULL,              REPORT_COUNT,   0}}, \
	{CELL_AVERAGE,   {"Avg (ns)",        REPORT_DECIMAL, 1}}, \
	{CELL_MEDIAN,    {"Med (ns)",        REPORT_DECIMAL, 1}}, \
	{CELL_MINIMUM,   {"Min (ns)",        REPORT_COUNT,   0}}, \
	{CELL_MAXIMUM,   {"Max (ns)",        REPORT_COUNT,   0}}, \
	{CELL_DEVIATION, {"StdDev (ns)",     REPORT_DECIMAL, 1}}

static const struct summary_column time_columns[] = {
	TIME_COLUMNS,
	{CELL_NAME,      {NULL,              REPORT_NAME,    0}},
};

static const struct summary_column range_columns[] = {
	TIME_COLUMNS,
	{CELL_STYLE,     {"Style",           REPORT_TEXT,    0}},
	{CELL_NAME,      {NULL,              REPORT_TEXT,    0}},
};

static const struct summary_column category_columns[] = {
	TIME_COLUMNS,
	{CELL_STYLE,     {"Category",        REPORT_TEXT,    0}},
	{CELL_NAME,      {NULL,              REPORT_NAME,    0}},
};

static const struct summary_column kernel_columns[] = {
	TIME_COLUMNS,
	{CELL_PLACE,     {"Launched by",     REPORT_NAME,    0}},
	{CELL_SOURCE,    {"Source",          REPORT_NAME,    0}},
	{CELL_NAME,      {NULL,              REPORT_NAME,    0}},
};

static const struct summary_column size_of_kernel_columns[] = {
	TIME_COLUMNS,
	{CELL_GRID,      {"GridXYZ",         REPORT_TEXT,    0}},
	{CELL_BLOCK,     {"BlockXYZ",        REPORT_TEXT,    0}},
	{CELL_NAME,      {NULL,              REPORT_NAME,    0}},
};

static const struct summary_column size_columns[] = {
	{CELL_TOTAL,     {"Total (MB)",      REPORT_DECIMAL, 3}},
	{CELL_COUNT,     {NULL,              REPORT_COUNT,   0}},
	{CELL_AVERAGE,   {"Avg (MB)",        REPORT_DECIMAL, 3}},
	{CELL_MEDIAN,    {"Med (MB)",        REPORT_DECIMAL, 3}},
	{CELL_MINIMUM,   {"Min (MB)",        REPORT_DECIMAL, 3}},
	{CELL_MAXIMUM,   {"Max (MB)",        REPORT_DECIMAL, 3}},
	{CELL_DEVIATION, {"StdDev (MB)",     REPORT_DECIMAL, 3}},
	{CELL_NAME,      {NULL,              REPORT_NAME,    0}},
};


#define TIMES(counted_, named_, columns_)                                              \
	.value = "dur", .unit = 1, .counted = counted_, .named = named_, .columns = columns_, \
	.column_count = ARRAY_SIZE(columns_)
#define SIZES(counted_, named_, columns_)                                                   \
	.value = "bytes", .unit = MEGABYTE, .counted = counted_, .named = named_,           \
	.columns = columns_, .column_count = ARRAY_SIZE(columns_)

static const struct summary {
	const char *report;
	const char *title;
	const char *empty; /* NULL: reports.def has data words */
	u16 kinds[SUMMARY_KINDS];    /* 0: none */
	const char *group;	     /* view_key() that a row stands for; without it an event does not count */
	const char *value;	     /* view_key() of what is summed */
	double unit;		     /* that values are shown in */
	const char *counted, *named; /* what CELL_COUNT and CELL_NAME are called */
	const struct summary_column *columns;
	size_t column_count;
	const char *styles[SUMMARY_KINDS]; /* words that tell the kinds apart; NULL: they are one */
	bool counts_open; /* what is open has its time, up to the end of the window */
	bool by_size; /* kernels of other grids and blocks are others */
	bool (*wants)(const struct view *view, const struct view_event *event); /* NULL: all */
} summaries[] = {
	{"cuda_api_sum", "CUDA API Summary", .kinds = {KIND_api}, .group = "name",
	 TIMES("Num Calls", "Name", time_columns)},
	{"cuda_gpu_kern_sum", "CUDA GPU Kernel Summary", .kinds = {KIND_kernel}, .group = "name",
	 TIMES("Instances", "Name", kernel_columns)},
	{"cuda_gpu_kern_gb_sum", "CUDA GPU Kernel/Grid/Block Summary", .kinds = {KIND_kernel},
	 .group = "name", .by_size = true, TIMES("Instances", "Name", size_of_kernel_columns)},
	{"cuda_gpu_mem_time_sum", "CUDA GPU MemOps Summary (by Time)", .kinds = {KIND_copy, KIND_set, KIND_migration}, .group = "operation_name",
	 TIMES("Count", "Operation", time_columns)},
	{"cuda_gpu_mem_size_sum", "CUDA GPU MemOps Summary (by Size)", .kinds = {KIND_copy, KIND_set, KIND_migration}, .group = "operation_name",
	 SIZES("Count", "Operation", size_columns)},
	{"cuda_gpu_sum", "CUDA GPU Summary (Kernels/MemOps)",
	 .kinds = {KIND_kernel, KIND_copy, KIND_set, KIND_migration}, .group = "operation_name",
	 .styles = {"CUDA_KERNEL", "MEMORY_OPER", "MEMORY_OPER", "MEMORY_OPER"},
	 TIMES("Instances", "Operation", category_columns)},
	{"cuda_api_gpu_sum", "CUDA Summary (API/Kernels/MemOps)",
	 .kinds = {KIND_api, KIND_kernel, KIND_copy, KIND_set, KIND_migration},
	 .group = "operation_name",
	 .styles = {"CUDA_API", "CUDA_KERNEL", "MEMORY_OPER", "MEMORY_OPER", "MEMORY_OPER"},
	 TIMES("Instances", "Operation", category_columns)},
	{"off_cpu_sum", "Off-CPU Summary: system calls, page faults, preemption (what was open counts to the end)",
	 .empty = "No waits were recorded.", .kinds = {KIND_off_cpu}, .group = "name", .counts_open = true,
	 TIMES("Num Waits", "Name", time_columns)},
	{"nvtx_sum", "NVTX Range Summary", .kinds = {KIND_range, KIND_process_range, KIND_usdt_span},
	 .group = "range_name", .styles = {"PushPop", "StartEnd", "PushPop"},
	 TIMES("Instances", "Range", range_columns)},
	{"nvtx_pushpop_sum", "NVTX Push/Pop Range Summary", .kinds = {KIND_range, KIND_usdt_span},
	 .group = "range_name", TIMES("Instances", "Range", time_columns)},
	{"nvtx_startend_sum", "NVTX Start/End Range Summary", .kinds = {KIND_process_range},
	 .group = "range_name", TIMES("Instances", "Range", time_columns)},
	{"osrt_sum", "OS Runtime Summary", .kinds = {KIND_call}, .group = "name",
	 TIMES("Num Calls", "Name", time_columns), .wants = view_is_os_runtime},
};
/* clang-format on */

/* One run of a summary over the events. */
struct run {
	const struct summary *summary;
	const struct report_request *request;
	const struct view *view;
	struct statistics *statistics;
	struct kernel_names names;
	const struct view_key *groups[SUMMARY_KINDS], *values[SUMMARY_KINDS];
	struct launch_places places;
	struct tally launchers; /* of rows, by time */
	struct string_table source_texts;
	struct tally sources; /* the same */
	const struct statistics_row *rows;
	u32 *most;	   /* of each row the one that launched most of it; NULL: nobody asks */
	u32 *most_source;  /* where most of it is written, the same */
	u64 cut_off_count; /* events behind the time in which all was recorded */
};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;
	const struct summary *summary = run->summary;
	int result;

	run->view = run->places.view = view;
	result = kernel_names_init(&run->names, view, run->request, err);
	for (unsigned i = 0; i < SUMMARY_KINDS && summary->kinds[i] && result == 0; i++) {
		const struct schema_kind *kind = schema_kind(summary->kinds[i]);

		result =
			view_key(view, summary->report, kind, summary->group, &run->groups[i], err);
		if (result == 0)
			result = view_key(view, summary->report, kind, summary->value,
					  &run->values[i], err);
	}
	return result;
}

#define SIZES_CHARS (2 * REPORT_SIZE_CHARS)

/* Grid and block, a line each; "" where they are not known. */
static void write_sizes(const struct record_kernel *kernel, char *ret_sizes)
{
	*ret_sizes = '\0';
	if (!kernel->grid[0] || !kernel->block[0])
		return;
	report_write_size(kernel->grid, ret_sizes);
	ret_sizes += strlen(ret_sizes);
	*ret_sizes++ = '\n';
	report_write_size(kernel->block, ret_sizes);
}

/* The row of an event, NULL without memory or where it counts nowhere. */
static const char *name_of(struct run *run, unsigned kind, const struct view_event *event)
{
	struct view_value group;

	if (event->kind->number == KIND_kernel)
		return kernel_names_of(&run->names, event);
	group = view_value(run->view, run->groups[kind], event);
	return group.type == VALUE_STRING ? group.string : NULL;
}

static bool has_places(const struct run *run)
{
	return run->summary->columns == kernel_columns &&
	       view_kind_count(run->view, KIND_launch_stack);
}

/* By what code it was launched. */
static int add_launcher(struct run *run, const struct view_event *event, u32 row, struct err *err)
{
	struct launch_place place;

	if (!has_places(run))
		return 0;
	if (launch_places_of(&run->places, event, &place) ||
	    (place.known && tally_add(&run->launchers, row, place.brief,
				      event->dur * event->cause->stack.launches)))
		return err_errno(err, -ENOMEM, "can't make the report %s", run->summary->report);
	return 0;
}

static bool has_sources(const struct run *run)
{
	return run->summary->columns == kernel_columns && view_has_kernel_sources(run->view);
}

/* Where it is written. */
static int add_source(struct run *run, const struct view_event *event, u32 row, struct err *err)
{
	_cleanup_text_ struct text text = {0};
	struct view_kernel_source source;
	s64 number;

	if (!has_sources(run) || !view_kernel_source(run->view, event, &source))
		return 0;
	view_kernel_source_append(&source, &text);
	if (!text.length && !text.failed)
		return 0;
	number = text.failed ? -ENOMEM
			     : string_table_add(&run->source_texts, text.data, text.length);
	if (number < 0 || tally_add(&run->sources, row, (u32)number, event->dur))
		return err_errno(err, -ENOMEM, "can't make the report %s", run->summary->report);
	return 0;
}

/* The time of a span whose end was not seen says when this was noticed: it counts without, as in the report usdt_sum. */
static bool lacks_end(const struct view_event *event)
{
	u8 ended;

	if (event->kind->number != KIND_usdt_span)
		return false;
	ended = ((const struct record_usdt_span *)event->record)->ended;
	return ended && ended != VALUE_usdt_ended_ended;
}

static int add_event(struct run *run, unsigned kind, const struct view_event *event,
		     struct err *err)
{
	struct view_value value = view_value(run->view, run->values[kind], event);
	const char *name = name_of(run, kind, event), *style = run->summary->styles[kind];
	char sizes[SIZES_CHARS];
	u32 number;
	int result;

	if (!name && event->kind->number != KIND_kernel)
		return 0;
	if (!name)
		return err_errno(err, -ENOMEM, "can't make the report %s", run->summary->report);
	if (run->summary->by_size) {
		write_sizes((const struct record_kernel *)event->record, sizes);
		style = sizes;
	}
	result = statistics_function(run->statistics, name, style ? style : "", &number, err);
	if (result == 0)
		result = add_launcher(run, event, number, err);
	if (result == 0)
		result = add_source(run, event, number, err);
	if (result < 0)
		return result;
	if (event->open && run->summary->counts_open)
		value = (struct view_value){.type = VALUE_U64, .number = event->dur};
	else if (event->open || lacks_end(event))
		value.type = VALUE_ABSENT;
	if (value.type == VALUE_U64)
		return statistics_add(run->statistics, number, value.number, err);
	statistics_add_untimed(run->statistics, number);
	return 0;
}

static bool has_kind(const struct summary *summary, u16 kind)
{
	for (unsigned i = 0; i < SUMMARY_KINDS; i++)
		if (summary->kinds[i] == kind)
			return true;
	return false;
}

/* Does it begin when only calls or only work was recorded, in a table that has both? */
static bool is_cut_off(const struct run *run, const struct view_event *event)
{
	static const u8 sorts[] = {VALUE_recorded_sort_gpu, VALUE_recorded_sort_cuda_calls};
	size_t count;

	view_recording_ends(run->view, &count);
	if (!count || !has_kind(run->summary, KIND_api) || !has_kind(run->summary, KIND_kernel))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(sorts); i++)
		if (event->ts >= view_recorded_until(run->view, sorts[i], event->record->pid))
			return true;
	return false;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	unsigned kind = 0;

	while (kind < SUMMARY_KINDS && run->summary->kinds[kind] != event->kind->number)
		kind++;
	if (kind == SUMMARY_KINDS || event->inner_call)
		return 0;
	if (run->summary->wants && !run->summary->wants(run->view, event))
		return 0;
	if (is_cut_off(run, event)) {
		run->cut_off_count++;
		return 0;
	}
	return add_event(run, kind, event, err);
}

/* ---- rows ---- */

static void fill_number(struct report_cell *cell, const struct report_column *column, double value,
			u64 exact, double unit)
{
	if (column->type == REPORT_COUNT)
		report_cell_count(cell, exact);
	else
		report_cell_decimal(cell, value / unit);
}

/* sizes: of write_sizes() */
static int fill_size(const char *sizes, enum cell which, struct report_cell *cell)
{
	size_t length = strcspn(sizes, "\n");
	char grid[REPORT_SIZE_CHARS];

	if (!*sizes)
		return 0;
	snprintf(grid, sizeof(grid), "%.*s", (int)length, sizes);
	return report_cell_text(cell, which == CELL_GRID ? grid : sizes + length + 1);
}

static int fill_place(const struct run *run, size_t row, struct report_cell *cell)
{
	u32 most = run->most[row];

	return report_cell_text(cell, most == TALLY_NOTHING ? LAUNCH_PLACE_NO_STACK
							    : run->places.strings.strings[most]);
}

static int fill_source(const struct run *run, size_t row, struct report_cell *cell)
{
	u32 most = run->most_source[row];

	return most == TALLY_NOTHING ? 0 : report_cell_text(cell, run->source_texts.strings[most]);
}

static int fill_cell(const struct run *run, const struct summary_column *column,
		     const struct statistics_row *row, double all, struct report_cell *cell)
{
	const struct {
		double value;
		u64 exact;
	} numbers[] = {
		[CELL_TOTAL] = {row->total_ns, row->total_ns},
		[CELL_AVERAGE] = {row->average_ns, 0},
		[CELL_MEDIAN] = {row->median_ns, 0},
		[CELL_MINIMUM] = {row->minimum_ns, row->minimum_ns},
		[CELL_MAXIMUM] = {row->maximum_ns, row->maximum_ns},
		[CELL_DEVIATION] = {row->deviation_ns, 0},
	};

	if (column->cell == CELL_NAME)
		return report_cell_text(cell, row->name);
	if (column->cell == CELL_PLACE)
		return fill_place(run, row - run->rows, cell);
	if (column->cell == CELL_SOURCE)
		return fill_source(run, row - run->rows, cell);
	if (column->cell == CELL_STYLE)
		return report_cell_text(cell, row->binary);
	if (column->cell == CELL_GRID || column->cell == CELL_BLOCK)
		return fill_size(row->binary, column->cell, cell);
	if (column->cell == CELL_COUNT)
		report_cell_count(cell, row->call_count);
	else if (!row->timed_count || (column->cell == CELL_SHARE && all <= 0))
		return 0;
	else if (column->cell == CELL_SHARE)
		report_cell_decimal(cell, 100.0 * row->total_ns / all);
	else
		fill_number(cell, &column->column, numbers[column->cell].value,
			    numbers[column->cell].exact, run->summary->unit);
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct statistics_row *left = *(const struct statistics_row *const *)a;
	const struct statistics_row *right = *(const struct statistics_row *const *)b;
	int names;

	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	names = strcmp(left->name, right->name);
	return names ? names : strcmp(left->binary, right->binary);
}

static bool is_shown(const struct run *run, const struct summary_column *column)
{
	return (column->cell != CELL_PLACE || has_places(run)) &&
	       (column->cell != CELL_SOURCE || has_sources(run));
}

static int find_most(struct run *run, const struct statistics_row *rows, size_t count)
{
	run->rows = rows;
	run->most = has_places(run) ? calloc(count + 1, sizeof(*run->most)) : NULL;
	if (run->most)
		tally_most(&run->launchers, run->most, count);
	run->most_source = has_sources(run) ? calloc(count + 1, sizeof(*run->most_source)) : NULL;
	if (run->most_source)
		tally_most(&run->sources, run->most_source, count);
	return (has_places(run) && !run->most) || (has_sources(run) && !run->most_source) ? -ENOMEM
											  : 0;
}

static int fill_table(const struct run *run, const struct statistics_row *rows, size_t count,
		      struct report_table *table)
{
	_cleanup_free_ const struct statistics_row **sorted = calloc(count + 1, sizeof(*sorted));
	double all = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		sorted[i] = &rows[i];
		all += rows[i].total_ns;
	}
	qsort(sorted, count, sizeof(*sorted), compare_rows);
	for (size_t i = 0; i < count; i++) {
		struct report_row *row = report_table_add(table);

		if (!row)
			return -ENOMEM;
		for (size_t j = 0, cell = 0; j < run->summary->column_count; j++)
			if (is_shown(run, &run->summary->columns[j]) &&
			    fill_cell(run, &run->summary->columns[j], sorted[i], all,
				      &row->cells[cell++]) < 0)
				return -ENOMEM;
	}
	return 0;
}

static const struct summary *find_summary(const char *report)
{
	for (size_t i = 0; i < ARRAY_SIZE(summaries); i++)
		if (strcmp(summaries[i].report, report) == 0)
			return &summaries[i];
	return NULL;
}

static int set_up_table(const struct run *run, struct report_table *table)
{
	const struct summary *summary = run->summary;

	table->title = summary->title;
	table->empty = summary->empty;
	if (!summary->by_size)
		table->empty_cells = "Rows without figures: the end of none of them was seen.";
	table->made_columns = calloc(summary->column_count, sizeof(*table->made_columns));
	if (!table->made_columns)
		return -ENOMEM;
	for (size_t i = 0; i < summary->column_count; i++) {
		struct report_column *column = &table->made_columns[table->column_count];

		if (!is_shown(run, &summary->columns[i]))
			continue;
		table->column_count++;
		*column = summary->columns[i].column;
		if (!column->name)
			column->name = summary->columns[i].cell == CELL_NAME ? summary->named
									     : summary->counted;
	}
	table->columns = table->made_columns;
	return 0;
}

static int add_note(const struct run *run, struct report_table *table)
{
	struct text note _cleanup_text_ = {0};

	if (!run->cut_off_count || !table->row_count)
		return 0;
	text_appendf(&note,
		     "%llu more began when not both calls of CUDA and work of GPUs were recorded",
		     (unsigned long long)run->cut_off_count);
	if (note.failed)
		return -ENOMEM;
	table->rows[0].note = take_pointer(&note.data);
	return 0;
}

static void run_free(void *data)
{
	struct run *run = data;

	kernel_names_free(&run->names);
	launch_places_free(&run->places);
	tally_free(&run->launchers);
	tally_free(&run->sources);
	string_table_free(&run->source_texts);
	free(run->most);
	free(run->most_source);
	statistics_free(run->statistics);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	const struct statistics_row *rows;
	struct run *run = data;
	size_t count;
	int result = statistics_finish(run->statistics, &rows, &count, err);

	if (result == 0 && (set_up_table(run, table) < 0 || find_most(run, rows, count) < 0 ||
			    fill_table(run, rows, count, table) < 0 || add_note(run, table) < 0))
		result = err_errno(err, -ENOMEM, "can't make the report %s", run->summary->report);
	return result;
}

int report_summary_begin(struct view *view, const struct report_request *request,
			 struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run *run = calloc(1, sizeof(*run));

	(void)view, (void)table;
	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	run->summary = find_summary(request->report->name);
	run->request = request;
	*ret_run = (struct report_run){
		.data = run, .part = {&sink, run}, .fill = run_fill, .free = run_free};
	return statistics_create(MEMORY_BYTES, &run->statistics, err);
}
