/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "hints": what of the CPU time has no names for a reason that is known, and what to do about it. A row is a process
 * with code that it makes for itself, or a file without symbols.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "reports/report_table.h"

enum column { COLUMN_SHARE, COLUMN_WHERE, COLUMN_HINT, COLUMNS };

static const struct report_column columns[COLUMNS] = {
	[COLUMN_SHARE] = {"CPU Time (%)", REPORT_DECIMAL, 1},
	[COLUMN_WHERE] = {"Where", REPORT_TEXT},
	[COLUMN_HINT] = {"Hint", REPORT_TEXT},
};

/* Less than that is not worth a line. */
#define LEAST_PERCENT 5.0

static const struct {
	const char *program, *words;
} hints[] = {
#define HINT(program, words) {program, words},
#include "reports/hints.def"
};

static const char stripped_words[] = "it has no symbols there: its debug symbols (a package "
				     "-dbgsym or -debuginfo, or DEBUGINFOD_URLS for root) name it";

struct unnamed {
	u64 ns;
	u32 pid;	    /* whose code it is; 0: of a file, */
	const char *module; /* of the view */
};

struct run {
	const struct view *view;
	struct map places; /* (pid or 0, string of the file) -> place in items */
	struct unnamed *items;
	size_t count, capacity;
	u64 all_ns;
};

static struct unnamed *item_of(struct run *run, u32 pid, const char *module)
{
	u64 *place = map_find(&run->places, pid, pid ? 0 : (u64)(uintptr_t)module);

	if (place)
		return &run->items[*place];
	if (array_reserve(&run->items, &run->capacity, run->count + 1) ||
	    map_set(&run->places, pid, pid ? 0 : (u64)(uintptr_t)module, run->count))
		return NULL;
	run->items[run->count] = (struct unnamed){.pid = pid, .module = module};
	return &run->items[run->count++];
}

static int run_point(void *data, const struct view_event *event, struct err *err)
{
	const struct view_frame *frames;
	struct run *run = data;
	struct unnamed *item;
	const char *cut;

	if (event->kind->number != KIND_sample)
		return 0;
	run->all_ns += event->weight_ns;
	if (!view_frames(run->view, event->record->pid, event->record->stack, &frames, &cut) ||
	    frames->name[0])
		return 0;
	/* "[anonymous]": memory of no file. "": nobody knows what was mapped there. */
	if (!frames->module[0])
		return 0;
	item = item_of(run, frames->module[0] == '[' ? event->record->pid : 0, frames->module);
	if (!item)
		return err_errno(err, -ENOMEM, "can't make the report hints");
	item->ns += event->weight_ns;
	return 0;
}

static int compare_items(const void *a, const void *b)
{
	const struct unnamed *left = a, *right = b;

	return (left->ns < right->ns) - (left->ns > right->ns);
}

/* By the executable: a process may call itself anything. */
static const char *words_of(const struct view *view, u32 pid)
{
	const char *path, *base;
	char key[64];
	size_t i = 0;

	snprintf(key, sizeof(key), "executable of %u", pid);
	path = view_attribute(view, "target", key);
	base = path ? path_base_name(path) : view_process_name(view, pid);
	while (strncmp(base, hints[i].program, strlen(hints[i].program)))
		i++;
	return hints[i].words;
}

static int fill_row(const struct run *run, const struct unnamed *item, struct report_row *row)
{
	_cleanup_text_ struct text where = {0};

	if (item->pid)
		text_appendf(&where, "code that %s (%u) makes",
			     view_process_name(run->view, item->pid), item->pid);
	else
		text_append(&where, item->module);
	report_cell_decimal(&row->cells[COLUMN_SHARE],
			    100.0 * (double)item->ns / (double)run->all_ns);
	if (where.failed || report_cell_text(&row->cells[COLUMN_WHERE], text_string(&where)))
		return -ENOMEM;
	return report_cell_text(&row->cells[COLUMN_HINT],
				item->pid ? words_of(run->view, item->pid) : stripped_words);
}

int report_hints_make(struct view *view, const struct report_request *request,
		      struct report_table *table, struct err *err)
{
	const struct view_sink sink = {.point = run_point};
	struct run run = {.view = view};
	int result = view_run(view, &sink, &run, err);

	table->title = "CPU time without names, and what to do about it";
	table->empty = "Names are there for nearly all of the CPU time.";
	table->columns = columns;
	table->column_count = COLUMNS;
	if (run.count)
		qsort(run.items, run.count, sizeof(*run.items), compare_items);
	for (size_t i = 0; i < run.count && result == 0; i++) {
		struct report_row *row;

		if (100.0 * (double)run.items[i].ns < LEAST_PERCENT * (double)run.all_ns)
			break;
		row = report_table_add(table);
		if (!row || fill_row(&run, &run.items[i], row))
			result = err_errno(err, -ENOMEM, "can't make the report %s",
					   request->report->name);
	}
	free(run.items);
	map_free(&run.places);
	return result;
}
