/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "hints": what of the CPU time and of the waits has no names for a reason that is known, and what to do about it. A row is a process
 * with code that it makes for itself, or a file without symbols. A wait counts for the innermost function of its stack that has no name.
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

enum column { COLUMN_SHARE, COLUMN_WAITS, COLUMN_WHERE, COLUMN_HINT, COLUMNS };

static const struct report_column columns[COLUMNS] = {
	[COLUMN_SHARE] = {"CPU Time (%)", REPORT_DECIMAL, 1},
	[COLUMN_WAITS] = {"Waits (%)", REPORT_DECIMAL, 1},
	[COLUMN_WHERE] = {"Where", REPORT_TEXT},
	[COLUMN_HINT] = {"Hint", REPORT_TEXT},
};

/* Less than that is not worth a line; code that a program makes has names in nobody's stacks, so it is sooner. */
#define LEAST_PERCENT	  5.0
#define LEAST_PERCENT_JIT 1.0

static const struct {
	const char *program, *words;
} hints[] = {
#define HINT(program, words) {program, words},
#include "reports/hints.def"
};

static const char stripped_words[] =
	"no symbols: install its -dbgsym or set DEBUGINFOD_URLS for root";

struct unnamed {
	u64 cpu_ns, wait_ns;
	u32 pid;	    /* whose code it is; 0: of a file, */
	const char *module; /* of the view */
};

struct run {
	const struct view *view;
	struct map places; /* (pid or 0, string of the file) -> place in items */
	struct unnamed *items;
	size_t count, capacity;
	u64 cpu_ns, wait_ns; /* in all */
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

/* The innermost function without a name (any: of all of the stack, else that in which the thread is), of a file or of code that a process makes; NULL: none, or no memory. */
static struct unnamed *find_unnamed(struct run *run, const struct view_event *event, bool any,
				    int *ret_result)
{
	const struct view_frame *frames;
	struct unnamed *item;
	const char *cut;
	u32 pid = event->record->pid;
	size_t count = view_frames(run->view, pid, event->record->stack, &frames, &cut);

	*ret_result = 0;
	for (size_t i = 0; i < count && (any || i == 0); i++) {
		/* "[anonymous]": memory of no file. "": nobody knows what was mapped there. */
		if (frames[i].name[0] || !frames[i].module[0])
			continue;
		item = item_of(run, frames[i].module[0] == '[' ? pid : 0, frames[i].module);
		*ret_result = item ? 0 : -ENOMEM;
		return item;
	}
	return NULL;
}

static int run_point(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	struct unnamed *item;
	int result;

	if (event->kind->number != KIND_sample)
		return 0;
	run->cpu_ns += event->weight_ns;
	item = find_unnamed(run, event, false, &result);
	if (item)
		item->cpu_ns += event->weight_ns;
	return result ? err_errno(err, result, "can't make the report hints") : 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct run *run = data;
	struct unnamed *item;
	int result;

	if (event->kind->number != KIND_off_cpu || wait->reason == VALUE_off_cpu_reason_preempted)
		return 0;
	run->wait_ns += event->dur;
	item = find_unnamed(run, event, true, &result);
	if (item)
		item->wait_ns += event->dur;
	return result ? err_errno(err, result, "can't make the report hints") : 0;
}

static int compare_items(const void *a, const void *b)
{
	const struct unnamed *left = a, *right = b;

	if (left->cpu_ns != right->cpu_ns)
		return left->cpu_ns < right->cpu_ns ? 1 : -1;
	return (left->wait_ns < right->wait_ns) - (left->wait_ns > right->wait_ns);
}

static double percent(u64 part_ns, u64 all_ns)
{
	return all_ns ? 100.0 * (double)part_ns / (double)all_ns : 0;
}

static double least_of(const struct unnamed *item)
{
	return item->pid ? LEAST_PERCENT_JIT : LEAST_PERCENT;
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

/* Its words with the number of the process in place of "PID". */
static void append_words(const struct view *view, u32 pid, struct text *text)
{
	const char *words = words_of(view, pid), *found;

	while ((found = strstr(words, "PID"))) {
		text_append_bytes(text, words, (size_t)(found - words));
		text_appendf(text, "%u", pid);
		words = found + strlen("PID");
	}
	text_append(text, words);
}

static int fill_row(const struct run *run, const struct unnamed *item, struct report_row *row)
{
	_cleanup_text_ struct text where = {0}, hint = {0};

	if (item->pid) {
		text_appendf(&where, "JIT code of %s (%u)", view_process_name(run->view, item->pid),
			     item->pid);
		append_words(run->view, item->pid, &hint);
	} else {
		text_append(&where, item->module);
		text_append(&hint, stripped_words);
	}
	report_cell_decimal(&row->cells[COLUMN_SHARE], percent(item->cpu_ns, run->cpu_ns));
	report_cell_decimal(&row->cells[COLUMN_WAITS], percent(item->wait_ns, run->wait_ns));
	if (where.failed || hint.failed ||
	    report_cell_text(&row->cells[COLUMN_WHERE], text_string(&where)))
		return -ENOMEM;
	return report_cell_text(&row->cells[COLUMN_HINT], text_string(&hint));
}

static void run_free(void *data)
{
	struct run *run = data;

	free(run->items);
	map_free(&run->places);
	free(run);
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;

	if (run->count)
		qsort(run->items, run->count, sizeof(*run->items), compare_items);
	for (size_t i = 0; i < run->count; i++) {
		const struct unnamed *item = &run->items[i];
		struct report_row *row;

		if (percent(item->cpu_ns, run->cpu_ns) < least_of(item) &&
		    percent(item->wait_ns, run->wait_ns) < least_of(item))
			continue;
		row = report_table_add(table);
		if (!row || fill_row(run, item, row))
			return err_errno(err, -ENOMEM, "can't make the report hints");
	}
	return 0;
}

int report_hints_begin(struct view *view, const struct report_request *request,
		       struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink sink = {.point = run_point, .span = run_span};
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	run->view = view;
	table->title = "Time without names, and what to do about it";
	table->empty = "Names are there for nearly all of the CPU time, and of the waits.";
	table->columns = columns;
	table->column_count = COLUMNS;
	*ret_run = (struct report_run){
		.data = run, .part = {&sink, run}, .fill = run_fill, .free = run_free};
	return 0;
}
