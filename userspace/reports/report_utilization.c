/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report gpu_time_util (a rule of `nsys analyze`): of the time from the first work of a process on a GPU to the end of its last,
 * in 30 parts, those in which the GPU was busy for less than half, neighbours joined. Busy is a GPU where at least one kernel, copy or set
 * runs, and where CUPTI writes what it recorded. Two runs: how long all is, then what lies in each part.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "reports/report_table.h"

#define REPORT	    "gpu_time_util"
#define PARTS	    30
#define LOW_PERCENT 50.0

enum column {
	COLUMN_NUMBER,
	COLUMN_USE,
	COLUMN_DURATION,
	COLUMN_START,
	COLUMN_PID,
	COLUMN_DEVICE,
	COLUMN_CONTEXT,
	COLUMN_COUNT
};

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_NUMBER] = {"Row#", REPORT_NUMBER, 0},
	[COLUMN_USE] = {"In-Use (%)", REPORT_DECIMAL, 1},
	[COLUMN_DURATION] = {"Duration (ns)", REPORT_COUNT, 0},
	[COLUMN_START] = {"Start (ns)", REPORT_COUNT, 0},
	[COLUMN_PID] = {"PID", REPORT_NUMBER, 0},
	[COLUMN_DEVICE] = {"Device ID", REPORT_NUMBER, 0},
	[COLUMN_CONTEXT] = {"Context ID", REPORT_NUMBER, 0},
};

/* A GPU as a process sees it. */
struct gpu {
	u32 pid, device;
	struct view_value context; /* of the work that ended last */
	u64 first_ns, last_ns, last_start_ns;
	u64 part_ns;
	u64 busy_until_ns;
	u64 busy_ns[PARTS];
};

struct run {
	const struct view *view;
	/* By place in work_kinds; what has no operation (faults) is no work. */
	const struct view_key *devices[4], *contexts[4], *operations[4];
	struct map places; /* (process, GPU) -> place in gpus */
	struct gpu *gpus;
	size_t count, capacity;
	bool measures; /* the second run */
};

static const u16 work_kinds[] = {KIND_kernel, KIND_copy, KIND_set, KIND_migration};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;
	int result = 0;

	run->view = view;
	for (size_t i = 0; i < ARRAY_SIZE(work_kinds) && result == 0; i++) {
		const struct schema_kind *kind = schema_kind(work_kinds[i]);

		result = view_key(view, REPORT, kind, "device_number", &run->devices[i], err);
		if (result == 0)
			result = view_key(view, REPORT, kind, "operation_name", &run->operations[i],
					  err);
		/* Pages that move belong to no context. */
		if (result == 0 && kind->number != KIND_migration)
			result = view_key(view, REPORT, kind, "context_number", &run->contexts[i],
					  err);
	}
	return result;
}

/* What of start..end is not counted yet, by the parts in which it lies. Work comes by its start. */
static void add_busy(struct gpu *gpu, u64 start_ns, u64 end_ns)
{
	u64 from = start_ns > gpu->busy_until_ns ? start_ns : gpu->busy_until_ns;

	from = from > gpu->first_ns ? from : gpu->first_ns;
	end_ns = end_ns < gpu->last_ns ? end_ns : gpu->last_ns;
	while (from < end_ns) {
		u64 part = (from - gpu->first_ns) / gpu->part_ns;
		u64 part_end = gpu->first_ns + (part + 1) * gpu->part_ns;
		u64 until = end_ns < part_end ? end_ns : part_end;

		gpu->busy_ns[part] += until - from;
		from = gpu->busy_until_ns = until;
	}
}

static int add_extent(struct run *run, const struct view_event *event, u32 device,
		      struct view_value context)
{
	const u64 *known = map_find(&run->places, event->record->pid, device);
	size_t place = known ? *known : run->count;
	struct gpu *gpu;

	if (!known) {
		if (array_reserve(&run->gpus, &run->capacity, run->count + 1) < 0 ||
		    map_set(&run->places, event->record->pid, device, run->count) < 0)
			return -ENOMEM;
		run->gpus[run->count++] = (struct gpu){
			.pid = event->record->pid, .device = device, .first_ns = event->ts};
	}
	gpu = &run->gpus[place];
	if (event->end > gpu->last_ns ||
	    (event->end == gpu->last_ns && event->ts > gpu->last_start_ns)) {
		gpu->last_ns = event->end;
		gpu->last_start_ns = event->ts;
		gpu->context = context;
	}
	return 0;
}

/* CUPTI's own work keeps all GPUs of its process. */
static void add_overhead(struct run *run, const struct view_event *event)
{
	const struct record_overhead *overhead = (const struct record_overhead *)event->record;

	if (!run->measures || overhead->type != VALUE_overhead_type_buffer_flush)
		return;
	for (size_t i = 0; i < run->count; i++)
		if (run->gpus[i].pid == event->record->pid)
			add_busy(&run->gpus[i], event->ts, event->end);
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	struct view_value device, context = {0};
	size_t kind = 0;
	u64 *place;

	if (event->kind->number == KIND_overhead)
		add_overhead(run, event);
	while (kind < ARRAY_SIZE(work_kinds) && work_kinds[kind] != event->kind->number)
		kind++;
	if (kind == ARRAY_SIZE(work_kinds) || event->open ||
	    view_value(run->view, run->operations[kind], event).type == VALUE_ABSENT)
		return 0;
	device = view_value(run->view, run->devices[kind], event);
	if (device.type == VALUE_ABSENT)
		return 0;
	if (run->contexts[kind])
		context = view_value(run->view, run->contexts[kind], event);
	if (!run->measures)
		return add_extent(run, event, device.number, context) < 0
			       ? err_errno(err, -ENOMEM, "can't make the report " REPORT)
			       : 0;
	place = map_find(&run->places, event->record->pid, device.number);
	if (place)
		add_busy(&run->gpus[*place], event->ts, event->end);
	return 0;
}

/* ---- rows ---- */

/* When a part begins; the last ends with the last work. */
static u64 part_start_ns(const struct gpu *gpu, unsigned part)
{
	u64 start_ns = gpu->first_ns + part * gpu->part_ns;

	return start_ns < gpu->last_ns ? start_ns : gpu->last_ns;
}

static bool is_low(const struct gpu *gpu, unsigned part)
{
	u64 part_ns = part_start_ns(gpu, part + 1) - part_start_ns(gpu, part);

	return part_ns && 100.0 * gpu->busy_ns[part] / part_ns < LOW_PERCENT;
}

static int add_row(struct run *run, const struct gpu *gpu, unsigned first, unsigned last,
		   struct report_table *table)
{
	u64 duration_ns = part_start_ns(gpu, last) - part_start_ns(gpu, first), busy_ns = 0;
	u64 start_ns, end_ns;
	struct report_row *row = report_table_add(table);

	if (!row)
		return -ENOMEM;
	view_time_range(view_survey(run->view), &start_ns, &end_ns);
	for (unsigned part = first; part < last; part++)
		busy_ns += gpu->busy_ns[part];
	report_cell_decimal(&row->cells[COLUMN_USE], 100.0 * busy_ns / duration_ns);
	report_cell_count(&row->cells[COLUMN_DURATION], duration_ns);
	report_cell_count(&row->cells[COLUMN_START], part_start_ns(gpu, first) - start_ns);
	report_cell_count(&row->cells[COLUMN_PID], gpu->pid);
	report_cell_count(&row->cells[COLUMN_DEVICE], gpu->device);
	if (gpu->context.type != VALUE_ABSENT)
		report_cell_count(&row->cells[COLUMN_CONTEXT], gpu->context.number);
	return 0;
}

static int add_gpu(struct run *run, const struct gpu *gpu, struct report_table *table)
{
	int result = 0;

	for (unsigned part = 0; part < PARTS && result == 0; part++) {
		unsigned first = part;

		while (part < PARTS && is_low(gpu, part))
			part++;
		if (part > first)
			result = add_row(run, gpu, first, part, table);
	}
	return result;
}

/* The least used first; of equals the shortest, as in nsys. */
static int compare_rows(const void *a, const void *b)
{
	const struct report_cell *left = ((const struct report_row *)a)->cells;
	const struct report_cell *right = ((const struct report_row *)b)->cells;

	if (left[COLUMN_USE].decimal != right[COLUMN_USE].decimal)
		return left[COLUMN_USE].decimal < right[COLUMN_USE].decimal ? -1 : 1;
	if (left[COLUMN_DURATION].count != right[COLUMN_DURATION].count)
		return left[COLUMN_DURATION].count < right[COLUMN_DURATION].count ? -1 : 1;
	return left[COLUMN_START].count < right[COLUMN_START].count
		       ? -1
		       : left[COLUMN_START].count > right[COLUMN_START].count;
}

static int fill_table(struct run *run, struct report_table *table)
{
	int result = 0;

	for (size_t i = 0; i < run->count && result == 0; i++)
		result = add_gpu(run, &run->gpus[i], table);
	if (table->row_count)
		qsort(table->rows, table->row_count, sizeof(*table->rows), compare_rows);
	for (size_t i = 0; i < table->row_count; i++)
		report_cell_count(&table->rows[i].cells[COLUMN_NUMBER], i + 1);
	return result;
}

int report_utilization_make(struct view *view, const struct report_request *request,
			    struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run run = {0};
	int result = view_run(view, &sink, &run, err);

	table->title = "GPU Low Utilization";
	table->empty = "No GPU was busy for less than half of a thirtieth of its time.";
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	for (size_t i = 0; i < run.count; i++)
		run.gpus[i].part_ns =
			(run.gpus[i].last_ns - run.gpus[i].first_ns + PARTS - 1) / PARTS ?: 1;
	run.measures = true;
	if (result == 0 && run.count)
		result = view_run(view, &sink, &run, err);
	if (result == 0 && fill_table(&run, table) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report " REPORT);
	free(run.gpus);
	map_free(&run.places);
	return result;
}
