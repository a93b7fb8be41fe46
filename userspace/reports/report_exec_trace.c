/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report cuda_kern_exec_trace: a row for each kernel whose launch was seen, by the start of the call that launched it: when the call
 * was made, when the kernel began to wait for its turn, and when it ran. Kernels come by the time when they ran, and any number of
 * them may wait, so rows are kept in a file and sorted.
 */
#include <errno.h>
#include <stdio.h>

#include "base/row_file.h"
#include "base/sorter.h"
#include "reports/report_kernel_name.h"
#include "reports/report_table.h"

#define SORTER_BYTES (4 << 20)
#define ROWS_BYTES   (4 << 20)

/* clang-format off */
enum column {
	COLUMN_API_START, COLUMN_API_DUR, COLUMN_QUEUE_START, COLUMN_QUEUE_DUR, COLUMN_KERNEL_START,
	COLUMN_KERNEL_DUR, COLUMN_TOTAL_DUR, COLUMN_PID, COLUMN_TID, COLUMN_DEVICE, COLUMN_API,
	COLUMN_GRID, COLUMN_BLOCK, COLUMN_KERNEL, COLUMNS
};

static const struct report_column columns[COLUMNS] = {
	[COLUMN_API_START] =    {"API Start (ns)", REPORT_COUNT, 0},
	[COLUMN_API_DUR] =      {"API Dur (ns)", REPORT_COUNT, 0},
	[COLUMN_QUEUE_START] =  {"Queue Start (ns)", REPORT_COUNT, 0},
	[COLUMN_QUEUE_DUR] =    {"Queue Dur (ns)", REPORT_COUNT, 0},
	[COLUMN_KERNEL_START] = {"Kernel Start (ns)", REPORT_COUNT, 0},
	[COLUMN_KERNEL_DUR] =   {"Kernel Dur (ns)", REPORT_COUNT, 0},
	[COLUMN_TOTAL_DUR] =    {"Total Dur (ns)", REPORT_COUNT, 0},
	[COLUMN_PID] =          {"PID", REPORT_NUMBER, 0},
	[COLUMN_TID] =          {"TID", REPORT_NUMBER, 0},
	[COLUMN_DEVICE] =       {"DevId", REPORT_NUMBER, 0},
	[COLUMN_API] =          {"API Function", REPORT_NAME, 0},
	[COLUMN_GRID] =         {"GridXYZ", REPORT_TEXT, 0},
	[COLUMN_BLOCK] =        {"BlockXYZ", REPORT_TEXT, 0},
	[COLUMN_KERNEL] =       {"Kernel Name", REPORT_NAME, 0},
};
/* clang-format on */

/* A kernel and its launch. */
struct launched {
	u64 api_ts, api_dur, kernel_ts, kernel_dur; /* durations: ~0 where they are not known */
	const char *api, *kernel;		    /* the view's */
	u32 pid, tid, device, path;
	u32 grid[3], block[3];
};

struct run {
	const struct report_request *request;
	const struct view *view;
	const struct view_key *device;
	struct report_table *table;
	struct kernel_names names;
	struct row_file rows;
	struct sorter *order; /* (start of the launch, number of the row) */
	u64 count;
};

static int no_memory(struct err *err)
{
	return err_errno(err, -ENOMEM, "can't make the report cuda_kern_exec_trace");
}

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;
	int result;

	run->view = view;
	result = view_key(view, "cuda_kern_exec_trace", schema_kind(KIND_kernel), "device_number",
			  &run->device, err);
	return result < 0 ? result : kernel_names_init(&run->names, view, run->request, err);
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	const struct record_kernel *kernel = (const struct record_kernel *)event->record;
	const struct view_cause *cause = event->cause;
	struct run *run = data;
	struct launched row;
	int result;

	if (event->kind->number != KIND_kernel || !cause)
		return 0;
	row = (struct launched){
		.api_ts = cause->ts,
		.api_dur = cause->open ? ~0ULL : cause->dur,
		.kernel_ts = event->ts,
		.kernel_dur = event->open ? ~0ULL : event->dur,
		.api = cause->name,
		.kernel = kernel_names_alone(&run->names, event),
		.pid = cause->pid,
		.tid = cause->tid,
		.device = view_value(run->view, run->device, event).number,
		.path = cause->path,
		.grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
		.block = {kernel->block[0], kernel->block[1], kernel->block[2]},
	};
	result = row_file_append(&run->rows, &row, err);
	return result < 0 ? result : sorter_add(run->order, row.api_ts, run->count++, err);
}

/* ---- rows ---- */

static void fill_times(const struct run *run, const struct launched *launched,
		       struct report_cell *cells)
{
	u64 start_ns = view_survey(run->view)->window_start_ns, api_end, end;

	report_cell_count(&cells[COLUMN_API_START],
			  launched->api_ts > start_ns ? launched->api_ts - start_ns : 0);
	report_cell_count(&cells[COLUMN_KERNEL_START],
			  launched->kernel_ts > start_ns ? launched->kernel_ts - start_ns : 0);
	if (launched->kernel_dur != ~0ULL)
		report_cell_count(&cells[COLUMN_KERNEL_DUR], launched->kernel_dur);
	if (launched->api_dur == ~0ULL)
		return;
	api_end = launched->api_ts + launched->api_dur;
	report_cell_count(&cells[COLUMN_API_DUR], launched->api_dur);
	if (launched->kernel_ts >= api_end && api_end >= start_ns) {
		report_cell_count(&cells[COLUMN_QUEUE_START], api_end - start_ns);
		report_cell_count(&cells[COLUMN_QUEUE_DUR], launched->kernel_ts - api_end);
	}
	if (launched->kernel_dur == ~0ULL)
		return;
	end = launched->kernel_ts + launched->kernel_dur;
	report_cell_count(&cells[COLUMN_TOTAL_DUR],
			  (end > api_end ? end : api_end) - launched->api_ts);
}

static int fill_size(const u32 *size, struct report_cell *cell)
{
	char text[REPORT_SIZE_CHARS];

	if (!size[0])
		return 0;
	report_write_size(size, text);
	return report_cell_text(cell, text);
}

static int add_row(struct run *run, const struct launched *launched)
{
	const char *kernel = kernel_names_in_range(&run->names, launched->path, launched->kernel);
	struct report_row *row = kernel ? report_table_add(run->table) : NULL;

	if (!row)
		return -ENOMEM;
	fill_times(run, launched, row->cells);
	report_cell_count(&row->cells[COLUMN_PID], launched->pid);
	report_cell_count(&row->cells[COLUMN_TID], launched->tid);
	report_cell_count(&row->cells[COLUMN_DEVICE], launched->device);
	if (report_cell_text(&row->cells[COLUMN_API], launched->api) < 0 ||
	    fill_size(launched->grid, &row->cells[COLUMN_GRID]) < 0 ||
	    fill_size(launched->block, &row->cells[COLUMN_BLOCK]) < 0)
		return -ENOMEM;
	return report_cell_text(&row->cells[COLUMN_KERNEL], kernel);
}

static int add_rows(struct run *run, struct err *err)
{
	struct launched launched;
	struct sorter_pair pair;
	int result = sorter_finish(run->order, err);

	while (result == 0 && (result = sorter_next(run->order, &pair, err)) > 0) {
		result = row_file_read(&run->rows, pair.value, &launched, err);
		if (result == 0 && add_row(run, &launched) < 0)
			result = no_memory(err);
	}
	return result;
}

int report_exec_trace_make(struct view *view, const struct report_request *request,
			   struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run run = {.request = request, .table = table};
	int result;

	table->title = "CUDA Kernel Launch & Exec Time Trace";
	table->columns = columns;
	table->column_count = COLUMNS;
	table->streamed = true;
	result = row_file_open(&run.rows, sizeof(struct launched), ROWS_BYTES, err);
	if (result == 0)
		result = sorter_create(SORTER_BYTES, &run.order, err);
	if (result == 0)
		result = view_run(view, &sink, &run, err);
	if (result == 0)
		result = add_rows(&run, err);
	sorter_free(run.order);
	row_file_close(&run.rows);
	kernel_names_free(&run.names);
	return result;
}
