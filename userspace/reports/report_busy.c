/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report gpu_busy_sum: how much of the window, as far as its work was recorded, each GPU had at least one kernel, copy or set to do.
 * What runs side by side in streams or processes counts once; a GPU is one by its uuid, whatever processes call it. Before its first work it may have done
 * what was launched before the recording: that is not known (view/gpu_edge.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "reports/report_gpu_doubts.h"
#include "view/gpu_edge.h"
#include "view/gpu_places.h"

enum column {
	COLUMN_DEVICE,
	COLUMN_SHARE,
	COLUMN_IDLE_SHARE,
	COLUMN_OF,
	COLUMN_BUSY,
	COLUMN_IDLE,
	COLUMN_UNSEEN,
	COLUMN_KERNELS,
	COLUMN_COPIES,
	COLUMN_SETS,
	COLUMN_OPERATIONS,
	COLUMN_NAME,
	COLUMN_COUNT
};

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_DEVICE] = {"Device ID", REPORT_NUMBER},
	[COLUMN_SHARE] = {"Busy (%)", REPORT_DECIMAL, 1},
	[COLUMN_IDLE_SHARE] = {"Idle (%)", REPORT_DECIMAL, 1},
	[COLUMN_OF] = {"Recorded (ns)", REPORT_COUNT},
	[COLUMN_BUSY] = {"Busy (ns)", REPORT_COUNT},
	[COLUMN_IDLE] = {"Idle (ns)", REPORT_COUNT},
	[COLUMN_UNSEEN] = {"Not Known (ns)", REPORT_COUNT},
	[COLUMN_KERNELS] = {"Kernels (ns)", REPORT_COUNT},
	[COLUMN_COPIES] = {"Copies (ns)", REPORT_COUNT},
	[COLUMN_SETS] = {"Sets (ns)", REPORT_COUNT},
	[COLUMN_OPERATIONS] = {"Operations", REPORT_COUNT},
	[COLUMN_NAME] = {"Name", REPORT_TEXT},
};

enum work { WORK_ANY, WORK_KERNEL, WORK_COPY, WORK_SET, WORKS };

/* A graph that is recorded as a whole runs its kernels. */
static const struct {
	u16 kind;
	enum work work;
} kinds[] = {
	{KIND_kernel, WORK_KERNEL},
	{KIND_graph_launch, WORK_KERNEL},
	{KIND_copy, WORK_COPY},
	{KIND_set, WORK_SET},
};

struct gpu {
	u32 device; /* id of its first fact */
	u32 number;
	u64 recorded_until_ns;
	u64 operation_count;
	u64 until_ns[WORKS], busy_ns[WORKS];
	struct gpu_edge edge;
};

struct run {
	const struct view *view;
	u64 start_ns; /* of the window */
	struct gpu_places places;
	struct gpu *gpus; /* [place] */
	size_t count, capacity;
};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;

	run->view = view;
	run->start_ns = survey->window_start_ns;
	return 0;
}

static struct gpu *gpu_of(struct run *run, const struct view_row *row)
{
	s64 place = gpu_places_of(&run->places, run->view, row->device);

	if (place < 0 || array_reserve(&run->gpus, &run->capacity, (size_t)place + 1) < 0)
		return NULL;
	if ((size_t)place == run->count)
		run->gpus[run->count++] = (struct gpu){
			.device = row->device,
			.number = row->device_number,
			.recorded_until_ns = view_gpu_recorded_until(run->view, row->device),
		};
	return &run->gpus[place];
}

/* Events come by their start. */
static void add_busy(const struct run *run, struct gpu *gpu, enum work work,
		     const struct view_event *event)
{
	u64 since = event->ts > run->start_ns ? event->ts : run->start_ns;
	u64 until = event->end < gpu->recorded_until_ns ? event->end : gpu->recorded_until_ns;

	since = since > gpu->until_ns[work] ? since : gpu->until_ns[work];
	if (until <= since)
		return;
	gpu->busy_ns[work] += until - since;
	gpu->until_ns[work] = until;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	struct gpu *gpu;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].kind != event->kind->number)
			continue;
		gpu = gpu_of(run, event->row);
		if (!gpu)
			return err_errno(err, -ENOMEM, "can't make the report gpu_busy_sum");
		gpu->operation_count++;
		gpu_edge_add(&gpu->edge, run->view, event);
		add_busy(run, gpu, WORK_ANY, event);
		add_busy(run, gpu, kinds[i].work, event);
	}
	return 0;
}

static int compare_gpus(const void *a, const void *b)
{
	const struct gpu *left = a, *right = b;

	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	return left->device < right->device ? -1 : left->device > right->device;
}

/* Before its first work. */
static u64 unseen_of(const struct run *run, const struct gpu *gpu)
{
	u64 until_ns = gpu_edge_until(&gpu->edge, run->start_ns);

	return (until_ns < gpu->recorded_until_ns ? until_ns : gpu->recorded_until_ns) -
	       run->start_ns;
}

static int add_row(const struct run *run, const struct gpu *gpu, struct report_table *table)
{
	u64 recorded_ns = gpu->recorded_until_ns - run->start_ns;
	u64 unseen_ns = unseen_of(run, gpu);
	u64 idle_ns = recorded_ns - gpu->busy_ns[WORK_ANY] - unseen_ns;
	struct report_row *row = report_table_add(table);
	const char *name = view_device_name(run->view, gpu->device);

	if (!row || !name || report_cell_text(&row->cells[COLUMN_NAME], name) < 0)
		return -ENOMEM;
	report_cell_count(&row->cells[COLUMN_DEVICE], gpu->number);
	if (recorded_ns) {
		report_cell_decimal(&row->cells[COLUMN_SHARE],
				    100.0 * gpu->busy_ns[WORK_ANY] / recorded_ns);
		report_cell_decimal(&row->cells[COLUMN_IDLE_SHARE], 100.0 * idle_ns / recorded_ns);
	}
	report_cell_count(&row->cells[COLUMN_OF], recorded_ns);
	report_cell_count(&row->cells[COLUMN_BUSY], gpu->busy_ns[WORK_ANY]);
	report_cell_count(&row->cells[COLUMN_IDLE], idle_ns);
	report_cell_count(&row->cells[COLUMN_UNSEEN], unseen_ns);
	report_cell_count(&row->cells[COLUMN_KERNELS], gpu->busy_ns[WORK_KERNEL]);
	report_cell_count(&row->cells[COLUMN_COPIES], gpu->busy_ns[WORK_COPY]);
	report_cell_count(&row->cells[COLUMN_SETS], gpu->busy_ns[WORK_SET]);
	report_cell_count(&row->cells[COLUMN_OPERATIONS], gpu->operation_count);
	return 0;
}

static void run_free(void *data)
{
	struct run *run = data;

	free(run->gpus);
	gpu_places_free(&run->places);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;
	int result = 0;

	if (run->count)
		qsort(run->gpus, run->count, sizeof(*run->gpus), compare_gpus);
	for (size_t i = 0; i < run->count && result == 0; i++)
		result = add_row(run, &run->gpus[i], table);
	if (result == 0)
		result = report_note_gpu_doubts(run->view, COLUMN_DEVICE, table);
	return result ? err_errno(err, -ENOMEM, "can't make the report gpu_busy_sum") : 0;
}

int report_busy_begin(struct view *view, const struct report_request *request,
		      struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	run->view = view;
	table->title = "GPU busy and idle, of the time in which its work was recorded";
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	*ret_run = (struct report_run){
		.data = run, .part = {&sink, run}, .fill = run_fill, .free = run_free};
	return 0;
}
