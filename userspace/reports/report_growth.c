/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "growth": how the memory of processes grew, by where in the code, what grew most first. A row is a chain of
 * functions and what it did there; where in the functions does not tell chains apart. Processes of one name are one row: a shell has thousands
 * of children that all grow alike.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/text.h"
#include "reports/report_table.h"
#include "reports/stack_strings.h"

enum column {
	COLUMN_FAULTED,
	COLUMN_FAULTS,
	COLUMN_MAPPED,
	COLUMN_MAPS,
	COLUMN_UNMAPPED,
	COLUMN_UNMAPS,
	COLUMN_PID,
	COLUMN_PROCESS,
	COLUMN_NAME,
	COLUMN_STACK,
	COLUMNS
};

static const struct report_column columns[COLUMNS] = {
	[COLUMN_FAULTED] = {"Faulted (bytes)", REPORT_COUNT},
	[COLUMN_FAULTS] = {"Faults", REPORT_COUNT},
	[COLUMN_MAPPED] = {"Mapped (bytes)", REPORT_COUNT},
	[COLUMN_MAPS] = {"Maps", REPORT_COUNT},
	[COLUMN_UNMAPPED] = {"Unmapped (bytes)", REPORT_COUNT},
	[COLUMN_UNMAPS] = {"Unmaps", REPORT_COUNT},
	[COLUMN_PID] = {"PID", REPORT_NUMBER},
	[COLUMN_PROCESS] = {"Process", REPORT_NAME},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
	[COLUMN_STACK] = {"Stack", REPORT_LINES},
};

struct grown {
	u64 sums[COLUMN_PID]; /* by column */
	u32 pid;	      /* of several processes the first that came */
	u64 processes;
	const char *name; /* of the view, as is */
	const char *process;
	size_t stack; /* number of the chain */
};

struct run {
	const struct view *view;
	struct stack_strings stacks;
	struct string_table names; /* of processes */
	struct map places; /* (names of the process and of what it did, chain) -> place in rows */
	struct map seen;   /* (place in rows, pid): is counted there */
	struct grown *rows;
	size_t count, capacity;
};

/* Number of what a process is called: one without a name is itself only. -ENOMEM. */
static s64 process_number(struct run *run, u32 pid)
{
	const char *name = view_process_name(run->view, pid);

	return *name ? string_table_add(&run->names, name, strlen(name))
		     : string_table_add(&run->names, (const char *)&pid, sizeof(pid));
}

/* NULL: no memory. */
static struct grown *row_of(struct run *run, const struct view_event *event)
{
	u32 pid = event->record->pid;
	s64 stack = stack_strings_number(&run->stacks, event->record);
	s64 process = process_number(run, pid);
	u64 key = (u64)process << 32 | event->record->name, *known, place;

	if (stack < 0 || process < 0)
		return NULL;
	known = map_find(&run->places, key, stack);
	place = known ? *known : run->count;
	if (!known) {
		if (array_reserve(&run->rows, &run->capacity, run->count + 1) ||
		    map_set(&run->places, key, stack, place))
			return NULL;
		run->rows[run->count++] =
			(struct grown){.pid = pid,
				       .name = event->name,
				       .process = view_process_name(run->view, pid),
				       .stack = stack};
	}
	if (!map_find(&run->seen, place, pid)) {
		if (map_set(&run->seen, place, pid, 1))
			return NULL;
		run->rows[place].processes++;
	}
	return &run->rows[place];
}

static int run_total(void *data, const struct view_event *event, struct err *err)
{
	const struct record_growth *record = (const void *)event->record;
	struct grown *row;

	if (event->kind->number != KIND_growth)
		return 0;
	row = row_of(data, event);
	if (!row)
		return err_errno(err, -ENOMEM, "can't make the report growth");
	row->sums[COLUMN_FAULTED] += record->faulted_bytes;
	row->sums[COLUMN_FAULTS] += record->faults;
	row->sums[COLUMN_MAPPED] += record->mapped_bytes;
	row->sums[COLUMN_MAPS] += record->maps;
	row->sums[COLUMN_UNMAPPED] += record->unmapped_bytes;
	row->sums[COLUMN_UNMAPS] += record->unmaps;
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	static const enum column order[] = {COLUMN_FAULTED, COLUMN_MAPPED, COLUMN_UNMAPPED,
					    COLUMN_FAULTS};
	const struct grown *left = a, *right = b;

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (left->sums[order[i]] != right->sums[order[i]])
			return left->sums[order[i]] < right->sums[order[i]] ? 1 : -1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

/* "sh x16357" */
static int fill_process(const struct grown *grown, struct report_row *row)
{
	_cleanup_text_ struct text name = {0};

	if (grown->processes == 1)
		report_cell_count(&row->cells[COLUMN_PID], grown->pid);
	text_append(&name, grown->process);
	if (grown->processes > 1)
		text_appendf(&name, " x%llu", (unsigned long long)grown->processes);
	return name.failed ? -ENOMEM
			   : report_cell_text(&row->cells[COLUMN_PROCESS], text_string(&name));
}

static int fill_table(struct run *run, struct report_table *table)
{
	qsort(run->rows, run->count, sizeof(*run->rows), compare_rows);
	for (size_t i = 0; i < run->count; i++) {
		const struct grown *grown = &run->rows[i];
		struct report_row *row = report_table_add(table);

		if (!row)
			return -ENOMEM;
		for (size_t j = 0; j < ARRAY_SIZE(grown->sums); j++)
			report_cell_count(&row->cells[j], grown->sums[j]);
		if (fill_process(grown, row) ||
		    report_cell_text(&row->cells[COLUMN_NAME], grown->name) ||
		    report_cell_text(&row->cells[COLUMN_STACK],
				     run->stacks.strings.strings[grown->stack]))
			return -ENOMEM;
	}
	return 0;
}

static void run_free(void *data)
{
	struct run *run = data;

	free(run->rows);
	map_free(&run->places);
	map_free(&run->seen);
	string_table_free(&run->names);
	stack_strings_free(&run->stacks);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;

	return run->count && fill_table(run, table)
		       ? err_errno(err, -ENOMEM, "can't make the report growth")
		       : 0;
}

int report_growth_begin(struct view *view, const struct report_request *request,
			struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink sink = {.total = run_total};
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	*run = (struct run){.view = view, .stacks = {.view = view}};
	table->title = "Memory growth by stack (innermost function first)";
	table->empty = "No growth of memory was recorded.";
	table->empty_cells = "Rows without a PID: processes of one name.";
	table->columns = columns;
	table->column_count = COLUMNS;
	*ret_run = (struct report_run){
		.data = run, .part = {&sink, run}, .fill = run_fill, .free = run_free};
	return 0;
}
