/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reports "threads" and "processes": how long each lived in the window, and what of that it ran, could have run, and waited, as the
 * scheduler counted it. The three add up to its life.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "reports/report_table.h"

enum column {
	COLUMN_SHARE,
	COLUMN_RUNNING,
	COLUMN_READY,
	COLUMN_WAITING,
	COLUMN_LIFE,
	COLUMN_SAMPLES,
	COLUMN_THREADS,
	COLUMN_PID,
	COLUMN_TID = COLUMN_THREADS, /* of a thread; and its process last */
	COLUMN_NAME = COLUMN_PID + 1,
	COLUMN_PROCESS,
	COLUMNS
};

#define TIME_COLUMNS                                                                               \
	[COLUMN_SHARE] = {"CPU (%)", REPORT_DECIMAL, 1},                                           \
	[COLUMN_RUNNING] = {"Running (ns)", REPORT_COUNT},                                         \
	[COLUMN_READY] = {"Ready (ns)", REPORT_COUNT},                                             \
	[COLUMN_WAITING] = {"Waiting (ns)", REPORT_COUNT},                                         \
	[COLUMN_LIFE] = {"Life (ns)", REPORT_COUNT}, [COLUMN_SAMPLES] = {"Samples", REPORT_COUNT}, \
	[COLUMN_PID] = {"PID", REPORT_NUMBER}

static const struct report_column thread_columns[COLUMNS] = {
	TIME_COLUMNS,
	[COLUMN_TID] = {"TID", REPORT_NUMBER},
	[COLUMN_NAME] = {"Thread", REPORT_NAME},
	[COLUMN_PROCESS] = {"Process", REPORT_NAME},
};

static const struct report_column process_columns[COLUMNS] = {
	TIME_COLUMNS,
	[COLUMN_THREADS] = {"Threads", REPORT_COUNT},
	[COLUMN_NAME] = {"Process", REPORT_NAME},
};

struct lived {
	u64 run_ns, ready_ns, life_ns, samples, threads;
	u32 pid, tid;
	const char *name, *process; /* of the view */
};

struct run {
	bool by_process;
	struct map places;  /* (pid, tid or 0) -> place in rows */
	struct map threads; /* (pid, tid), counted */
	struct lived *rows;
	size_t count, capacity;
	u64 window_ns;
};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	(void)view;
	(void)err;
	((struct run *)data)->window_ns = survey->window_end_ns - survey->window_start_ns;
	return 0;
}

static struct lived *row_of(struct run *run, const struct view_event *event)
{
	u32 tid = run->by_process ? 0 : event->record->tid;
	u64 *place = map_find(&run->places, event->record->pid, tid);

	if (place)
		return &run->rows[*place];
	if (array_reserve(&run->rows, &run->capacity, run->count + 1) ||
	    map_set(&run->places, event->record->pid, tid, run->count))
		return NULL;
	run->rows[run->count] = (struct lived){.pid = event->record->pid,
					       .tid = tid,
					       .name = event->row->name,
					       .process = event->row->process_name};
	return &run->rows[run->count++];
}

static int run_event(void *data, const struct view_event *event, struct err *err)
{
	const struct record_thread_time *time = (const void *)event->record;
	struct run *run = data;
	struct lived *row;

	if (event->kind->number != KIND_thread_time && event->kind->number != KIND_sample)
		return 0;
	row = row_of(run, event);
	if (!row)
		return err_errno(err, -ENOMEM, "can't make a report of threads");
	if (event->kind->number == KIND_sample) {
		row->samples++;
		return 0;
	}
	if (!map_find(&run->threads, event->record->pid, event->record->tid)) {
		row->threads++;
		if (map_set(&run->threads, event->record->pid, event->record->tid, 1))
			return err_errno(err, -ENOMEM, "can't make a report of threads");
	}
	row->life_ns += event->dur;
	row->run_ns += time->run_ns == ~0ULL ? 0 : time->run_ns;
	row->ready_ns += time->ready_ns == ~0ULL ? 0 : time->ready_ns;
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct lived *left = a, *right = b;

	if (left->run_ns != right->run_ns)
		return left->run_ns < right->run_ns ? 1 : -1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

static int fill_row(const struct run *run, const struct lived *lived, struct report_row *row)
{
	u64 busy_ns = lived->run_ns + lived->ready_ns;

	report_cell_decimal(&row->cells[COLUMN_SHARE],
			    run->window_ns ? 100.0 * (double)lived->run_ns / (double)run->window_ns
					   : 0);
	report_cell_count(&row->cells[COLUMN_RUNNING], lived->run_ns);
	report_cell_count(&row->cells[COLUMN_READY], lived->ready_ns);
	report_cell_count(&row->cells[COLUMN_WAITING],
			  lived->life_ns > busy_ns ? lived->life_ns - busy_ns : 0);
	report_cell_count(&row->cells[COLUMN_LIFE], lived->life_ns);
	report_cell_count(&row->cells[COLUMN_SAMPLES], lived->samples);
	report_cell_count(&row->cells[COLUMN_PID], lived->pid);
	report_cell_count(&row->cells[COLUMN_TID], run->by_process ? lived->threads : lived->tid);
	if (run->by_process)
		return report_cell_text(&row->cells[COLUMN_NAME], lived->process);
	if (report_cell_text(&row->cells[COLUMN_PROCESS], lived->process))
		return -ENOMEM;
	return report_cell_text(&row->cells[COLUMN_NAME], lived->name);
}

static void run_free(void *data)
{
	struct run *run = data;

	free(run->rows);
	map_free(&run->places);
	map_free(&run->threads);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;

	if (run->count)
		qsort(run->rows, run->count, sizeof(*run->rows), compare_rows);
	for (size_t i = 0; i < run->count; i++) {
		struct report_row *row = report_table_add(table);

		if (!row || fill_row(run, &run->rows[i], row))
			return err_errno(err, -ENOMEM, "can't make the report %s",
					 run->by_process ? "processes" : "threads");
	}
	return 0;
}

int report_threads_begin(struct view *view, const struct report_request *request,
			 struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink sink = {
		.open = run_open, .point = run_event, .total = run_event};
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	(void)view;
	run->by_process = !strcmp(request->report->name, "processes");
	table->title = run->by_process ? "Processes (what their threads did with their time)"
				       : "Threads (what they did with their time)";
	table->empty = "How long threads ran was not recorded.";
	table->columns = run->by_process ? process_columns : thread_columns;
	table->column_count = run->by_process ? COLUMN_PROCESS : COLUMNS;
	*ret_run = (struct report_run){
		.data = run, .part = {&sink, run}, .fill = run_fill, .free = run_free};
	return 0;
}
