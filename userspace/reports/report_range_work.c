/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "range_work": what GPUs did, by the ranges that its launches belong to (view_cause.within): of the thread that launched it,
 * or of the one that this thread works for. Functions are no ranges here, and ranges that count up (step_name.h) are one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "reports/report_table.h"
#include "steps/step_name.h"
#include "view/view.h"

#define NO_RANGE 0 /* its place among the entries */

enum column {
	COLUMN_PERCENT,
	COLUMN_TIME,
	COLUMN_OPERATIONS,
	COLUMN_INNER_TIME,
	COLUMN_INNER_OPERATIONS,
	COLUMN_BY_WAIT,
	COLUMN_BY_TIME,
	COLUMN_RANGE,
	COLUMNS
};

static const struct report_column columns[COLUMNS] = {
	[COLUMN_PERCENT] = {"Time (%)", REPORT_DECIMAL, 1},
	[COLUMN_TIME] = {"GPU Time (ns)", REPORT_COUNT},
	[COLUMN_OPERATIONS] = {"Operations", REPORT_COUNT},
	[COLUMN_INNER_TIME] = {"With Inner (ns)", REPORT_COUNT},
	[COLUMN_INNER_OPERATIONS] = {"With Inner", REPORT_COUNT},
	[COLUMN_BY_WAIT] = {"By Wait", REPORT_COUNT},
	[COLUMN_BY_TIME] = {"By Time", REPORT_COUNT},
	[COLUMN_RANGE] = {"Range", REPORT_NAME},
};

struct entry {
	u32 parent;
	u64 ns, operations, inner_ns, inner_operations;
	u64 by_wait, by_time; /* of operations */
};

struct run {
	const struct view *view;
	struct map places;	   /* path -> place in entries */
	struct string_table names; /* of the entries, outermost first */
	struct entry *entries;
	size_t count, capacity;
	u64 total_ns;
};

/* ---- the run ---- */

/* The place of this name in this entry, a new one if there is none. */
static s64 find_entry(struct run *run, u32 parent, const char *name)
{
	_cleanup_text_ struct text whole = {0};
	s64 place;

	if (parent != NO_RANGE) {
		text_append(&whole, run->names.strings[parent]);
		text_append_char(&whole, '/');
	}
	text_append_bytes(&whole, name, step_name_without_count(name, strlen(name)));
	if (whole.failed)
		return -ENOMEM;
	place = string_table_add(&run->names, text_string(&whole), whole.length);
	if (place < (s64)run->count)
		return place;
	if (array_reserve(&run->entries, &run->capacity, run->count + 1) < 0)
		return -ENOMEM;
	run->entries[run->count++] = (struct entry){.parent = parent};
	return place;
}

static s64 entry_of_path(struct run *run, u32 number)
{
	const struct view_path *path = view_path(run->view, number);
	const u64 *known = path ? map_find(&run->places, number, 0) : NULL;
	s64 place;

	if (!path || known)
		return known ? (s64)*known : NO_RANGE;
	place = entry_of_path(run, path->parent);
	if (place >= 0 && (path->kind == KIND_range || path->kind == KIND_usdt_span))
		place = find_entry(run, place, path->name);
	if (place >= 0 && map_set(&run->places, number, 0, place) < 0)
		return -ENOMEM;
	return place;
}

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;

	run->view = view;
	/* The first: of what is in none. */
	return find_entry(run, NO_RANGE, "(none)") < 0
		       ? err_errno(err, -ENOMEM, "can't make the report range_work")
		       : 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	struct run *run = data;
	const struct view_cause *cause = event->cause;
	struct entry *entry;
	s64 place;

	if (!view_row_is_of(work, event->kind->number) || event->row->type != ROW_STREAM)
		return 0;
	place = entry_of_path(run, cause ? cause->within.path : 0);
	if (place < 0)
		return err_errno(err, place, "can't make the report range_work");
	entry = &run->entries[place];
	entry->ns += event->dur;
	entry->operations++;
	entry->by_wait += place != NO_RANGE && cause->within.by == VIEW_WITHIN_BY_WAIT;
	entry->by_time += place != NO_RANGE && cause->within.by == VIEW_WITHIN_BY_TIME;
	run->total_ns += event->dur;
	return 0;
}

/* ---- rows ---- */

/* Entries stand behind those that they lie in. */
static void sum_up(struct run *run)
{
	for (size_t i = run->count; i-- > 0;) {
		struct entry *entry = &run->entries[i];

		entry->inner_ns += entry->ns;
		entry->inner_operations += entry->operations;
		if (i == NO_RANGE || entry->parent == NO_RANGE)
			continue;
		run->entries[entry->parent].inner_ns += entry->inner_ns;
		run->entries[entry->parent].inner_operations += entry->inner_operations;
	}
}

static int add_row(const struct run *run, size_t place, struct report_table *table)
{
	const struct entry *entry = &run->entries[place];
	struct report_row *row = report_table_add(table);
	struct report_cell *cells = row ? row->cells : NULL;

	if (!row)
		return -ENOMEM;
	report_cell_decimal(&cells[COLUMN_PERCENT],
			    run->total_ns ? 100.0 * (double)entry->inner_ns / (double)run->total_ns
					  : 0);
	report_cell_count(&cells[COLUMN_TIME], entry->ns);
	report_cell_count(&cells[COLUMN_OPERATIONS], entry->operations);
	report_cell_count(&cells[COLUMN_INNER_TIME], entry->inner_ns);
	report_cell_count(&cells[COLUMN_INNER_OPERATIONS], entry->inner_operations);
	report_cell_count(&cells[COLUMN_BY_WAIT], entry->by_wait);
	report_cell_count(&cells[COLUMN_BY_TIME], entry->by_time);
	return report_cell_text(&cells[COLUMN_RANGE], run->names.strings[place]);
}

static int compare_rows(const void *a, const void *b)
{
	const struct report_cell *left = ((const struct report_row *)a)->cells;
	const struct report_cell *right = ((const struct report_row *)b)->cells;
	u64 left_ns = left[COLUMN_INNER_TIME].count, right_ns = right[COLUMN_INNER_TIME].count;

	if (left_ns != right_ns)
		return left_ns < right_ns ? 1 : -1;
	return strcmp(left[COLUMN_RANGE].text, right[COLUMN_RANGE].text);
}

static int fill_table(struct run *run, struct report_table *table)
{
	int result = 0;

	sum_up(run);
	for (size_t i = 0; i < run->count && result == 0; i++)
		if (run->entries[i].inner_operations)
			result = add_row(run, i, table);
	if (result == 0)
		report_table_keep(table, compare_rows, table->row_count);
	return result;
}

int report_range_work_make(struct view *view, const struct report_request *request,
			   struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run run = {0};
	int result = view_run(view, &sink, &run, err);

	table->title = "GPU work, by the ranges that it belongs to";
	table->empty = "No GPU did anything.";
	table->columns = columns;
	table->column_count = COLUMNS;
	if (result == 0 && fill_table(&run, table) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report range_work");
	map_free(&run.places);
	string_table_free(&run.names);
	free(run.entries);
	return result;
}
