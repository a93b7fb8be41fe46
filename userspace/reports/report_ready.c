/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "ready": why threads that could run did not. A row is a reason, and who ran instead of a thread that had to leave its CPU; of what
 * had been woken it is not recorded who held the CPU.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/map.h"
#include "reports/report_waits.h"

enum column { COLUMN_WHY = WAITS_COLUMNS, COLUMN_PID, COLUMN_TID, COLUMN_INSTEAD, COLUMNS };

static const struct report_column columns[COLUMNS] = {
	WAITS_COLUMN_ROWS,
	[COLUMN_WHY] = {"Why", REPORT_TEXT},
	[COLUMN_PID] = {"PID", REPORT_NUMBER},
	[COLUMN_TID] = {"TID", REPORT_NUMBER},
	[COLUMN_INSTEAD] = {"Ran Instead", REPORT_NAME},
};

enum why { WHY_WOKEN, WHY_PREEMPTED, WHY_THROTTLED, WHY_NOBODY, WHY_SHORT, WHYS };

static const char *const words[WHYS] = {
	[WHY_WOKEN] = "woken, and waited for a CPU",
	[WHY_PREEMPTED] = "preempted",
	[WHY_THROTTLED] = "throttled by its cgroup",
	[WHY_NOBODY] = "preempted, its CPU was idle then",
	[WHY_SHORT] = "in waits too short to be recorded",
};

struct row {
	struct wait_sum sum;
	enum why why;
	u32 pid, tid;
	const char *instead; /* of the view; NULL: the thread has a name, or is not known */
};

struct run {
	const struct view *view;
	struct map places; /* (why, thread) -> place in rows */
	struct row *rows;
	size_t count, capacity;
};

static int add(struct run *run, struct row row, u64 ns)
{
	u64 who = (u64)row.pid << 32 | row.tid, *place;

	if (!ns)
		return 0;
	place = map_find(&run->places, row.why, who);
	if (!place) {
		if (array_reserve(&run->rows, &run->capacity, run->count + 1) ||
		    map_set(&run->places, row.why, who, run->count))
			return -ENOMEM;
		run->rows[run->count++] = row;
		place = map_find(&run->places, row.why, who);
	}
	wait_sum_add(&run->rows[*place].sum, ns);
	return 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct run *run = data;
	struct row row = {.why = WHY_WOKEN};
	u64 ns = wait->runnable_ns == ~0ULL ? 0 : wait->runnable_ns;

	if (event->kind->number != KIND_off_cpu)
		return 0;
	if (wait->reason == VALUE_off_cpu_reason_preempted) {
		bool nobody = wait->instead && !wait->instead_tid;

		ns = event->dur;
		row = (struct row){.why = WHY_PREEMPTED,
				   .pid = wait->instead_pid,
				   .tid = wait->instead_tid,
				   .instead = nobody ? NULL : view_text(run->view, wait->instead)};
		if (wait->throttled)
			row = (struct row){.why = WHY_THROTTLED};
		else if (nobody)
			row.why = WHY_NOBODY;
	}
	return add(run, row, ns) ? err_errno(err, -ENOMEM, "can't make the report ready") : 0;
}

static int run_total(void *data, const struct view_event *event, struct err *err)
{
	const struct record_short_wait *waits = (const void *)event->record;

	if (event->kind->number != KIND_short_wait || waits->ready_ns == ~0ULL)
		return 0;
	return add(data, (struct row){.why = WHY_SHORT}, waits->ready_ns)
		       ? err_errno(err, -ENOMEM, "can't make the report ready")
		       : 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->sum.total_ns != right->sum.total_ns)
		return left->sum.total_ns < right->sum.total_ns ? 1 : -1;
	if (left->why != right->why)
		return left->why < right->why ? -1 : 1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

static int fill_row(const struct run *run, const struct row *from, double all,
		    struct report_row *row)
{
	const char *name = from->instead;

	wait_sum_fill(&from->sum, all, row);
	if (from->tid) {
		report_cell_count(&row->cells[COLUMN_PID], from->pid);
		report_cell_count(&row->cells[COLUMN_TID], from->tid);
		if (!name)
			name = view_task_name(run->view, from->pid, from->tid);
	}
	return report_cell_text(&row->cells[COLUMN_WHY], words[from->why]) ||
			       report_cell_text(&row->cells[COLUMN_INSTEAD], name ? name : "")
		       ? -ENOMEM
		       : 0;
}

static int fill_table(struct run *run, struct report_table *table)
{
	int result = 0;
	double all = 0;

	qsort(run->rows, run->count, sizeof(*run->rows), compare_rows);
	for (size_t i = 0; i < run->count; i++)
		all += run->rows[i].sum.total_ns;
	for (size_t i = 0; i < run->count && !result; i++) {
		struct report_row *row = report_table_add(table);

		result = row ? fill_row(run, &run->rows[i], all, row) : -ENOMEM;
	}
	return result;
}

int report_ready_make(struct view *view, const struct report_request *request,
		      struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.span = run_span, .total = run_total};
	struct run run = {.view = view};
	int result = view_run(view, &sink, &run, err);

	table->title = "Why threads that could run did not, and who ran instead";
	table->empty = "No thread was ready and did not run.";
	table->columns = columns;
	table->column_count = COLUMNS;
	if (result == 0 && run.count && fill_table(&run, table) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	free(run.rows);
	map_free(&run.places);
	return result;
}
