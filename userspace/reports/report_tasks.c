/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "tasks", for a screen: processes, then the threads of those that have several. Processes are one row where their names are
 * the same, and threads of a process where theirs are but for a number at the end, and their work is alike: the share of their lives that
 * they ran, or that these were short.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/text.h"
#include "reports/report_table.h"
#include "reports/thread_names.h"

enum column {
	COLUMN_SHARE,
	COLUMN_RUNNING,
	COLUMN_READY,
	COLUMN_WAITING,
	COLUMN_LIFE,
	COLUMN_THREADS,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_NAME,
	COLUMNS
};

static const struct report_column columns[COLUMNS] = {
	[COLUMN_SHARE] = {"CPU (%)", REPORT_DECIMAL, 1},
	[COLUMN_RUNNING] = {"Running (ns)", REPORT_COUNT},
	[COLUMN_READY] = {"Ready (ns)", REPORT_COUNT},
	[COLUMN_WAITING] = {"Waiting (ns)", REPORT_COUNT},
	[COLUMN_LIFE] = {"Life (ns)", REPORT_COUNT},
	[COLUMN_THREADS] = {"Threads", REPORT_COUNT},
	[COLUMN_PID] = {"PID", REPORT_NUMBER},
	[COLUMN_TID] = {"TID", REPORT_NUMBER},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
};

struct task {
	u64 run_ns, ready_ns, life_ns, threads, processes;
	u32 pid, tid;	  /* tid 0: a process; of several the first that came */
	const char *name; /* of the view; of the process, or of the first thread */
	bool names_differ;
};

struct tasks {
	struct task *items;
	size_t count, capacity;
	struct map places; /* (pid, tid, or number of the name and work) -> place in items */
};

struct run {
	const struct view *view;
	struct tasks processes, programs, threads, alike; /* programs: processes that are alike */
	struct string_table names, titles; /* of threads without their numbers, of processes */
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

/* What is there of a and b, or a new one with these. NULL: no memory. */
static struct task *task_of(struct tasks *tasks, u64 a, u64 b, const struct task *first)
{
	u64 *place = map_find(&tasks->places, a, b);

	if (place)
		return &tasks->items[*place];
	if (array_reserve(&tasks->items, &tasks->capacity, tasks->count + 1) ||
	    map_set(&tasks->places, a, b, tasks->count))
		return NULL;
	tasks->items[tasks->count] =
		(struct task){.pid = first->pid, .tid = first->tid, .name = first->name};
	return &tasks->items[tasks->count++];
}

static void add(struct task *task, const struct task *what)
{
	task->run_ns += what->run_ns;
	task->ready_ns += what->ready_ns;
	task->life_ns += what->life_ns;
	task->threads += what->threads;
	task->processes += what->processes;
}

static int run_total(void *data, const struct view_event *event, struct err *err)
{
	const struct record_thread_time *time = (const void *)event->record;
	struct run *run = data;
	struct task *thread;

	if (event->kind->number != KIND_thread_time)
		return 0;
	thread = task_of(&run->threads, event->record->pid, event->record->tid,
			 &(struct task){.pid = event->record->pid,
					.tid = event->record->tid,
					.name = event->row->name});
	if (!thread)
		return err_errno(err, -ENOMEM, "can't make the report tasks");
	add(thread, &(struct task){.run_ns = time->run_ns == ~0ULL ? 0 : time->run_ns,
				   .ready_ns = time->ready_ns == ~0ULL ? 0 : time->ready_ns,
				   .life_ns = event->dur});
	thread->threads = 1;
	return 0;
}

/* How much of its life it ran: next to nothing, little, a part, most. Of one that lived only briefly that is chance. */
static unsigned work_of(const struct run *run, const struct task *thread)
{
	static const unsigned percents[] = {1, 10, 50};
	unsigned work = 0;

	if (thread->life_ns < run->window_ns / 10)
		return ARRAY_SIZE(percents) + 1;
	while (work < ARRAY_SIZE(percents) &&
	       (double)thread->run_ns * 100 >= (double)percents[work] * (double)thread->life_ns)
		work++;
	return work;
}

static int sum_programs_up(struct run *run)
{
	for (size_t i = 0; i < run->processes.count; i++) {
		struct task *process = &run->processes.items[i], *program;
		s64 title = string_table_add(&run->titles, process->name, strlen(process->name));

		process->processes = 1;
		program = title < 0 ? NULL
				    : task_of(&run->programs, (u64)title, work_of(run, process),
					      process);
		if (!program)
			return -ENOMEM;
		add(program, process);
	}
	return 0;
}

/* Sums threads up, to their processes and these to programs, and to threads that are alike. */
static int sum_up(struct run *run, const struct view *view)
{
	for (size_t i = 0; i < run->threads.count; i++) {
		const struct task *thread = &run->threads.items[i];
		s64 name = string_table_add(&run->names, thread->name,
					    thread_name_stem_length(thread->name));
		struct task *process =
			task_of(&run->processes, thread->pid, 0,
				&(struct task){.pid = thread->pid,
					       .name = view_process_name(view, thread->pid)});
		struct task *alike =
			name < 0 ? NULL
				 : task_of(&run->alike, thread->pid,
					   ((u64)name << 8 | work_of(run, thread)) + 1, thread);

		if (!process || !alike)
			return -ENOMEM;
		add(process, thread);
		add(alike, thread);
		alike->names_differ |= strcmp(alike->name, thread->name) != 0;
	}
	return sum_programs_up(run);
}

static int compare_tasks(const void *a, const void *b)
{
	const struct task *left = a, *right = b;

	if (left->run_ns != right->run_ns)
		return left->run_ns < right->run_ns ? 1 : -1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

static int fill_row(const struct run *run, const struct task *task, struct report_row *row)
{
	struct text name _cleanup_text_ = {0};
	u64 busy_ns = task->run_ns + task->ready_ns;

	thread_names_append(&name, task->name, task->names_differ,
			    task->tid ? task->threads : task->processes);
	report_cell_decimal(&row->cells[COLUMN_SHARE],
			    run->window_ns ? 100.0 * (double)task->run_ns / (double)run->window_ns
					   : 0);
	report_cell_count(&row->cells[COLUMN_RUNNING], task->run_ns);
	report_cell_count(&row->cells[COLUMN_READY], task->ready_ns);
	report_cell_count(&row->cells[COLUMN_WAITING],
			  task->life_ns > busy_ns ? task->life_ns - busy_ns : 0);
	report_cell_count(&row->cells[COLUMN_LIFE], task->life_ns);
	report_cell_count(&row->cells[COLUMN_THREADS], task->threads);
	if (task->tid || task->processes == 1)
		report_cell_count(&row->cells[COLUMN_PID], task->pid);
	if (task->tid && task->threads == 1)
		report_cell_count(&row->cells[COLUMN_TID], task->tid);
	return name.failed ? -ENOMEM
			   : report_cell_text(&row->cells[COLUMN_NAME], text_string(&name));
}

/* Of a process with one thread the thread says nothing more. */
static bool is_told_by_process(const struct run *run, const struct task *task)
{
	u64 *place = task->tid ? map_find(&run->processes.places, task->pid, 0) : NULL;

	return place && run->processes.items[*place].threads == 1;
}

static int fill_table(struct run *run, struct report_table *table)
{
	struct tasks *const parts[] = {&run->programs, &run->alike};
	int result = 0;

	/* Copies: the place of a process is looked up in between. */
	for (size_t part = 0; part < ARRAY_SIZE(parts) && result == 0; part++) {
		struct tasks *tasks = parts[part];
		struct task *sorted _cleanup_free_ = calloc(tasks->count + 1, sizeof(*sorted));

		if (!sorted)
			return -ENOMEM;
		if (tasks->count)
			memcpy(sorted, tasks->items, tasks->count * sizeof(*sorted));
		qsort(sorted, tasks->count, sizeof(*sorted), compare_tasks);
		for (size_t i = 0; i < tasks->count && result == 0; i++) {
			struct report_row *row;

			if (is_told_by_process(run, &sorted[i]))
				continue;
			row = report_table_add(table);
			result = row ? fill_row(run, &sorted[i], row) : -ENOMEM;
		}
	}
	return result;
}

static void tasks_free(struct tasks *tasks)
{
	free(tasks->items);
	map_free(&tasks->places);
}

static void run_free(void *data)
{
	struct run *run = data;

	tasks_free(&run->processes);
	tasks_free(&run->programs);
	tasks_free(&run->threads);
	tasks_free(&run->alike);
	string_table_free(&run->names);
	string_table_free(&run->titles);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;

	return sum_up(run, run->view) < 0 || fill_table(run, table) < 0
		       ? err_errno(err, -ENOMEM, "can't make the report tasks")
		       : 0;
}

int report_tasks_begin(struct view *view, const struct report_request *request,
		       struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink sink = {.open = run_open, .total = run_total};
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	run->view = view;
	table->title = "Processes, and their threads (what they did with their time)";
	table->empty = "How long threads ran was not recorded.";
	table->empty_cells = "Rows without a TID: a process, or threads that are alike. Without a "
			     "PID: processes that are alike.";
	table->columns = columns;
	table->column_count = COLUMNS;
	*ret_run = (struct report_run){
		.data = run, .part = {&sink, run}, .fill = run_fill, .free = run_free};
	return 0;
}
