/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces: a row for each event, by the time when it began, with the titles and columns of `nsys stats`, and for each that a rule of
 * `nsys analyze` finds, the longest first. A table of reports; rows of traces are streamed. Calls inside another one with the same correlation id are the same work, and have no row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reports/report_kernel_name.h"
#include "reports/report_rules.h"
#include "reports/report_table.h"

#define MEGABYTE    1e6
#define TRACE_KINDS 4
#define FOUND_ROWS  50	 /* of a rule, unless :rows=N says something else */
#define FOUND_SPARE 4096 /* beyond them, before the shortest go */

struct trace_column {
	struct report_column column;
	const char *key; /* view_key(), of those kinds that have it; NULL: nothing is known of it */
	double unit;	 /* that a REPORT_DECIMAL is shown in */
	unsigned element; /* of an array */
};

/* Of kernels the name that was asked for. What has none is no operation. */
#define KEY_OPERATION "operation_name"
/* Not known of what had not ended. */
#define KEY_DURATION "dur"

/* clang-format off */
#define TIME(name, key)            {{name, REPORT_COUNT, 0}, key, 0, 0}
#define NUMBER(name, key)          {{name, REPORT_NUMBER, 0}, key, 0, 0}
#define SIGNED(name, key)          {{name, REPORT_DECIMAL, 0}, key, 1, 0}
#define ELEMENT(name, key, number) {{name, REPORT_NUMBER, 0}, key, 0, number}
#define DECIMAL(name, key, unit)   {{name, REPORT_DECIMAL, 3}, key, unit, 0}
#define STRING(name, key)          {{name, REPORT_TEXT, 0}, key, 0, 0}
#define NAME(name, key)            {{name, REPORT_NAME, 0}, key, 0, 0}

static const struct trace_column gpu_columns[] = {
	TIME("Start (ns)", "offset_ns"),
	TIME("Duration (ns)", KEY_DURATION),
	NUMBER("CorrId", "correlation"),
	ELEMENT("GrdX", "grid", 0),
	ELEMENT("GrdY", "grid", 1),
	ELEMENT("GrdZ", "grid", 2),
	ELEMENT("BlkX", "block", 0),
	ELEMENT("BlkY", "block", 1),
	ELEMENT("BlkZ", "block", 2),
	NUMBER("Reg/Trd", "registers_per_thread"),
	DECIMAL("StcSMem (MB)", "static_shared_memory_bytes", MEGABYTE),
	DECIMAL("DymSMem (MB)", "dynamic_shared_memory_bytes", MEGABYTE),
	DECIMAL("Bytes (MB)", "bytes", MEGABYTE),
	DECIMAL("Throughput (MBps)", "bandwidth", 1e-3), /* which is in gigabytes a second */
	STRING("SrcMemKd", "source_memory"),
	STRING("DstMemKd", "destination_memory"),
	STRING("Device", "device_and_number"),
	NUMBER("Ctx", "context_number"),
	NUMBER("GreenCtx", NULL),
	NUMBER("Strm", "stream_number"),
	NAME("Name", KEY_OPERATION),
};

/* What rules find begins with its duration and its start. */
static const struct trace_column copy_found_columns[] = {
	TIME("Duration (ns)", KEY_DURATION),
	TIME("Start (ns)", "offset_ns"),
	STRING("Src Kind", "source_memory"),
	STRING("Dst Kind", "destination_memory"),
	DECIMAL("Bytes (MB)", "bytes", MEGABYTE),
	NUMBER("PID", "pid"),
	NUMBER("Device ID", "device_number"),
	NUMBER("Context ID", "context_number"),
	NUMBER("Stream ID", "stream_number"),
	NAME("API Name", "cause_name"),
};

static const struct trace_column set_found_columns[] = {
	TIME("Duration (ns)", KEY_DURATION),
	TIME("Start (ns)", "offset_ns"),
	STRING("Memory Kind", "source_memory"),
	DECIMAL("Bytes (MB)", "bytes", MEGABYTE),
	NUMBER("PID", "pid"),
	NUMBER("Device ID", "device_number"),
	NUMBER("Context ID", "context_number"),
	NUMBER("Stream ID", "stream_number"),
	NAME("API Name", "cause_name"),
};

static const struct trace_column api_found_columns[] = {
	TIME("Duration (ns)", KEY_DURATION),
	TIME("Start (ns)", "offset_ns"),
	NUMBER("PID", "pid"),
	NUMBER("TID", "tid"),
	NAME("API Name", "name"),
};

static const struct trace_column api_columns[] = {
	TIME("Start (ns)", "offset_ns"),
	TIME("Duration (ns)", KEY_DURATION),
	NAME("Name", "name"),
	NUMBER("Result", "result"),
	NUMBER("CorrID", "correlation"),
	NUMBER("Pid", "pid"),
	NUMBER("Tid", "tid"),
	SIGNED("T-Pri", "thread_priority"),
	STRING("Thread Name", "thread_name"),
};
/* clang-format on */

#define COLUMNS_MAX ARRAY_SIZE(gpu_columns)

static const struct trace {
	const char *report, *title;
	u16 kinds[TRACE_KINDS]; /* 0: none */
	const struct trace_column *columns;
	size_t column_count;
	report_rule *rule;   /* NULL: a trace of all */
	const char *nothing; /* what to say where the rule finds none */
} traces[] = {
	{"cuda_gpu_trace",
	 "CUDA GPU Trace",
	 {KIND_kernel, KIND_copy, KIND_set, KIND_migration},
	 gpu_columns,
	 ARRAY_SIZE(gpu_columns),
	 NULL,
	 NULL},
	{"cuda_api_trace",
	 "CUDA API Trace",
	 {KIND_api},
	 api_columns,
	 ARRAY_SIZE(api_columns),
	 NULL,
	 NULL},
	{"cuda_memcpy_async",
	 "CUDA Async Memcpy with Pageable Memory",
	 {KIND_copy},
	 copy_found_columns,
	 ARRAY_SIZE(copy_found_columns),
	 report_rule_memcpy_async,
	 "No asynchronous copy from or to pageable memory was recorded."},
	{"cuda_memcpy_sync",
	 "CUDA Synchronous Memcpy",
	 {KIND_copy},
	 copy_found_columns,
	 ARRAY_SIZE(copy_found_columns),
	 report_rule_memcpy_sync,
	 "No synchronous copy that blocks the host was recorded."},
	{"cuda_memset_sync",
	 "CUDA Synchronous Memset",
	 {KIND_set},
	 set_found_columns,
	 ARRAY_SIZE(set_found_columns),
	 report_rule_memset_sync,
	 "No synchronous set of pinned or managed memory was recorded."},
	{"cuda_api_sync",
	 "CUDA Synchronization APIs",
	 {KIND_api},
	 api_found_columns,
	 ARRAY_SIZE(api_found_columns),
	 report_rule_api_sync,
	 "No call that waits for a GPU was recorded."},
};

struct run {
	const struct trace *trace;
	const struct report_request *request;
	const struct view *view;
	struct report_table *table;
	struct kernel_names names;
	const struct view_key *operations[TRACE_KINDS];
	const struct view_key *keys[TRACE_KINDS][COLUMNS_MAX]; /* NULL: the kind has none */
	size_t operation_column;			       /* COLUMNS_MAX: there is none */
	u64 rows;					       /* of a rule */
};

/* In each of the kinds that have it, which at least one has. */
static int find_column(struct run *run, size_t place, struct err *err)
{
	const struct trace *trace = run->trace;
	const char *key = trace->columns[place].key;
	bool found = false;

	for (unsigned i = 0; i < TRACE_KINDS && trace->kinds[i]; i++) {
		const struct schema_kind *kind = schema_kind(trace->kinds[i]);
		int result;

		if (!view_has_key(kind, key))
			continue;
		result = view_key(run->view, trace->report, kind, key, &run->keys[i][place], err);
		if (result < 0)
			return result;
		found = true;
	}
	return found ? 0
		     : err_set(err, -EINVAL, "%s: nothing that it shows has a field '%s'",
			       trace->report, key);
}

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;
	const struct trace *trace = run->trace;
	int result;

	run->view = view;
	run->operation_column = COLUMNS_MAX;
	result = kernel_names_init(&run->names, view, run->request, err);
	for (unsigned i = 0; i < TRACE_KINDS && trace->kinds[i] && result == 0; i++)
		result = view_key(view, trace->report, schema_kind(trace->kinds[i]), KEY_OPERATION,
				  &run->operations[i], err);
	for (size_t i = 0; i < trace->column_count && result == 0; i++) {
		if (!trace->columns[i].key)
			continue;
		if (!strcmp(trace->columns[i].key, KEY_OPERATION))
			run->operation_column = i;
		result = find_column(run, i, err);
	}
	return result;
}

static int fill_text(struct report_cell *cell, const char *text)
{
	return text ? report_cell_text(cell, text) : -ENOMEM;
}

static int fill_cell(const struct trace_column *column, const struct view_value *value,
		     struct report_cell *cell)
{
	u64 number = value->type == VALUE_ARRAY ? value->numbers[column->element] : value->number;

	if (value->type == VALUE_ABSENT)
		return 0;
	if (value->type == VALUE_STRING)
		return fill_text(cell, value->string);
	if (column->column.type != REPORT_DECIMAL)
		report_cell_count(cell, number);
	else if (value->type == VALUE_DECIMAL)
		report_cell_decimal(cell, value->decimal / column->unit);
	else if (value->type == VALUE_S64)
		report_cell_decimal(cell, (s64)number / column->unit);
	else
		report_cell_decimal(cell, number / column->unit);
	return 0;
}

static int fill_row(struct run *run, const struct view_event *event,
		    const struct view_key *const *keys, struct report_row *row)
{
	int result = 0;

	for (size_t i = 0; i < run->trace->column_count && result == 0; i++) {
		const struct trace_column *column = &run->trace->columns[i];
		struct view_value value;

		if (!keys[i] || (event->open && !strcmp(column->key, KEY_DURATION)))
			continue;
		if (event->kind->number == KIND_kernel && i == run->operation_column) {
			result = fill_text(&row->cells[i], kernel_names_of(&run->names, event));
			continue;
		}
		value = view_value(run->view, keys[i], event);
		result = fill_cell(column, &value, &row->cells[i]);
	}
	return result;
}

/* The longest first; of equals the earliest. */
static int compare_found(const void *a, const void *b)
{
	const struct report_cell *left = ((const struct report_row *)a)->cells;
	const struct report_cell *right = ((const struct report_row *)b)->cells;

	if (left[0].count != right[0].count)
		return left[0].count < right[0].count ? 1 : -1;
	return left[1].count < right[1].count ? -1 : left[1].count > right[1].count;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	struct report_row *row;
	unsigned kind = 0;

	while (kind < TRACE_KINDS && run->trace->kinds[kind] != event->kind->number)
		kind++;
	if (kind == TRACE_KINDS || event->inner_call ||
	    view_value(run->view, run->operations[kind], event).type == VALUE_ABSENT ||
	    (run->trace->rule && (event->open || !run->trace->rule(run->view, event))))
		return 0;
	if (run->trace->rule && run->table->row_count > FOUND_SPARE &&
	    run->table->row_count - FOUND_SPARE >= run->rows)
		report_table_keep(run->table, compare_found, run->rows);
	row = report_table_add(run->table);
	if (!row || fill_row(run, event, run->keys[kind], row) < 0)
		return err_errno(err, -ENOMEM, "can't make the report %s", run->trace->report);
	return 0;
}

static int set_up_table(const struct trace *trace, struct report_table *table)
{
	table->title = trace->title;
	table->made_columns = calloc(trace->column_count, sizeof(*table->made_columns));
	if (!table->made_columns)
		return -ENOMEM;
	for (size_t i = 0; i < trace->column_count; i++)
		table->made_columns[i] = trace->columns[i].column;
	table->columns = table->made_columns;
	table->column_count = trace->column_count;
	table->streamed = !trace->rule;
	table->empty = trace->nothing;
	return 0;
}

int report_trace_make(struct view *view, const struct report_request *request,
		      struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run run = {.trace = traces,
			  .request = request,
			  .table = table,
			  .rows = request->rows ?: FOUND_ROWS};
	int result;

	while (strcmp(run.trace->report, request->report->name))
		run.trace++;
	if (set_up_table(run.trace, table) < 0)
		return err_errno(err, -ENOMEM, "can't make the report %s", run.trace->report);
	result = view_run(view, &sink, &run, err);
	if (run.trace->rule)
		report_table_keep(table, compare_found, run.rows);
	kernel_names_free(&run.names);
	return result;
}
