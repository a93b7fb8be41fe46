/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report "gpu_code": GPU time by the function of the program that launched it, or by line of source, of all threads or by thread or process.
 * What has no stack is a row of its own, so that the rows add up to all that GPUs did. What the others say of all is a column of its own: each stack
 * stands for as many launches as its record says (some are taken by chance).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "reports/launch_places.h"
#include "reports/report_table.h"
#include "reports/tally.h"

#define REPLAY_NOTE "the code that replays a graph; what captured it ran before"

enum part {
	PART_SHARE,
	PART_ESTIMATE,
	PART_TIME,
	PART_OPERATIONS,
	PART_LAUNCHES,
	PART_BYTES,
	PART_OPERATION,
	PART_PID,
	PART_TID,
	PART_THREAD,
	PART_PROCESS,
	PART_MODULE,
	PART_LINE,
	PART_NAME,
	PARTS
};

static const struct report_column part_columns[PARTS] = {
	[PART_SHARE] = {"Time (%)", REPORT_DECIMAL, 1},
	[PART_ESTIMATE] = {"Estimated (%)", REPORT_DECIMAL, 1},
	[PART_TIME] = {"GPU Time (ns)", REPORT_COUNT},
	[PART_OPERATIONS] = {"Operations", REPORT_COUNT},
	[PART_LAUNCHES] = {"Launches", REPORT_COUNT},
	[PART_BYTES] = {"Copied (bytes)", REPORT_COUNT},
	[PART_OPERATION] = {"Most by", REPORT_NAME},
	[PART_PID] = {"PID", REPORT_NUMBER},
	[PART_TID] = {"TID", REPORT_NUMBER},
	[PART_THREAD] = {"Thread", REPORT_NAME},
	[PART_PROCESS] = {"Process", REPORT_NAME},
	[PART_MODULE] = {"Module", REPORT_NAME},
	[PART_LINE] = {"Line", REPORT_NAME},
	[PART_NAME] = {"Name", REPORT_NAME},
};

/* A row. */
struct row {
	struct launch_place place; /* of what came first */
	u32 pid, tid;		   /* whose; 0: of all, or not known */
	const char *who;	   /* of the view, or NULL */
	u64 ns, operations, launches, bytes;
	double estimated_ns; /* what its stacks stand for */
};

struct run {
	const struct view *view;
	const struct report_request *request;
	const struct view_survey *survey;
	struct launch_places places;
	struct string_table keys; /* of rows: what tells them apart */
	struct row *rows;
	size_t row_capacity;
	struct tally operations, lines; /* of rows, by time */
	struct string_table operation_names;
	u64 *seen; /* bit n: launch n has been counted */
	size_t seen_capacity;
	u64 all_ns, launches, launches_with_stack;
	u64 without_launch; /* operations whose launch is not known */
	double all_estimated_ns;
	bool by_chance; /* some stacks stand for more than one launch */
	bool are_first; /* there are none of later ones */
};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;

	(void)view;
	(void)err;
	run->survey = survey;
	for (size_t i = 0; i < survey->loss_count; i++)
		run->are_first |= survey->losses[i].reason == VALUE_loss_reason_launch_stacks_ended;
	return 0;
}

/* ---- rows ---- */

/* A line is a part of its module. */
static bool is_by_module(const struct report_request *request)
{
	return request->by_module && !request->by_line;
}

/* Whose it is, where rows are those of threads or processes: of who launched it. */
static void fill_owner(const struct run *run, const struct view_event *event, struct row *row)
{
	const struct view_cause *cause = event->cause;

	if (!run->request->by_thread && !run->request->by_process)
		return;
	row->pid = cause ? cause->pid : event->record->pid;
	row->tid = cause && run->request->by_thread ? cause->tid : 0;
	if (!run->request->by_thread)
		row->who = cause ? run->survey->rows[cause->row_index].process_name
				 : event->row->process_name;
	else if (cause)
		row->who = run->survey->rows[cause->row_index].name;
}

/* NULL: no memory. */
static struct row *row_of(struct run *run, const struct view_event *event,
			  const struct launch_place *place)
{
	struct row row = {.place = *place};
	_cleanup_text_ struct text key = {0};
	size_t before = run->keys.count;
	s64 number;

	fill_owner(run, event, &row);
	if (is_by_module(run->request))
		text_appendf(&key, "%u %u %u", place->unit, row.pid, row.tid);
	else
		text_appendf(&key, "%u %u %u %u %u %u", place->name, place->module, place->file,
			     run->request->by_line ? place->line : 0, row.pid, row.tid);
	number = key.failed ? -ENOMEM : string_table_add(&run->keys, key.data, key.length);
	if (number < 0)
		return NULL;
	if (run->keys.count == before)
		return &run->rows[number];
	if (array_reserve(&run->rows, &run->row_capacity, run->keys.count))
		return NULL;
	run->rows[number] = row;
	return &run->rows[number];
}

/* Is it the first that is seen of this launch? 1: yes; -ENOMEM. */
static int is_first(struct run *run, u64 launch)
{
	size_t word = launch / 64, before = run->seen_capacity;

	if (array_reserve(&run->seen, &run->seen_capacity, word + 1))
		return -ENOMEM;
	if (run->seen_capacity > before)
		memset(run->seen + before, 0, (run->seen_capacity - before) * sizeof(*run->seen));
	if (run->seen[word] >> launch % 64 & 1)
		return 0;
	run->seen[word] |= 1ULL << launch % 64;
	return 1;
}

static int add_launch(struct run *run, const struct view_cause *cause, struct row *row)
{
	int first;

	if (!cause) {
		run->without_launch++;
		return 0;
	}
	first = is_first(run, cause->number);
	if (first <= 0)
		return first;
	row->launches++;
	run->launches++;
	run->launches_with_stack += row->place.known;
	run->by_chance |= cause->stack.launches > 1;
	return 0;
}

static u64 bytes_of(const struct view_event *event)
{
	if (event->kind->number != KIND_copy)
		return 0;
	return ((const struct record_copy *)event->record)->bytes;
}

static int add_work(struct run *run, const struct view_event *event)
{
	const struct view_cause *cause = event->cause;
	struct launch_place place;
	struct row *row;
	s64 operation;
	u32 number;

	if (launch_places_of(&run->places, event, &place))
		return -ENOMEM;
	row = row_of(run, event, &place);
	operation = string_table_add(&run->operation_names, event->name, strlen(event->name));
	if (!row || operation < 0)
		return -ENOMEM;
	number = (u32)(row - run->rows);
	row->ns += event->dur;
	row->operations++;
	row->bytes += bytes_of(event);
	run->all_ns += event->dur;
	if (place.known) {
		row->estimated_ns += (double)event->dur * cause->stack.launches;
		run->all_estimated_ns += (double)event->dur * cause->stack.launches;
	}
	if (add_launch(run, cause, row) || tally_add(&run->lines, number, place.line, event->dur))
		return -ENOMEM;
	return tally_add(&run->operations, number, (u32)operation, event->dur);
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};

	if (!view_row_is_of(work, event->kind->number) || event->row->type != ROW_STREAM)
		return 0;
	return add_work(data, event) ? err_errno(err, -ENOMEM, "can't make the report gpu_code")
				     : 0;
}

/* ---- the table ---- */

static bool has_part(const struct run *run, enum part part)
{
	const struct report_request *request = run->request;
	const bool absent[PARTS] = {
		[PART_PID] = !request->by_thread && !request->by_process,
		[PART_TID] = !request->by_thread,
		[PART_THREAD] = !request->by_thread,
		[PART_PROCESS] = !request->by_process || request->by_thread,
		[PART_MODULE] = request->by_line && !request->by_module,
		[PART_NAME] = is_by_module(request),
	};

	return !absent[part];
}

static int make_columns(const struct run *run, struct report_table *table)
{
	table->made_columns = calloc(PARTS, sizeof(*table->made_columns));
	if (!table->made_columns)
		return -ENOMEM;
	table->columns = table->made_columns;
	for (enum part i = 0; i < PARTS; i++)
		if (has_part(run, i))
			table->made_columns[table->column_count++] = part_columns[i];
	return 0;
}

static int fill_text(struct report_cell *cell, const char *text)
{
	return text && text[0] ? report_cell_text(cell, text) : 0;
}

static void fill_number(const struct run *run, const struct row *row, enum part part,
			struct report_cell *cell)
{
	const u64 numbers[PARTS] = {
		[PART_TIME] = row->ns,	   [PART_OPERATIONS] = row->operations,
		[PART_BYTES] = row->bytes, [PART_LAUNCHES] = row->launches,
		[PART_PID] = row->pid,	   [PART_TID] = row->tid,
	};

	if (part == PART_SHARE && run->all_ns)
		report_cell_decimal(cell, 100.0 * (double)row->ns / (double)run->all_ns);
	else if (part == PART_ESTIMATE && row->place.known && run->all_estimated_ns > 0)
		report_cell_decimal(cell, 100.0 * row->estimated_ns / run->all_estimated_ns);
	else if (part_columns[part].type != REPORT_DECIMAL && (part != PART_TID || row->tid))
		report_cell_count(cell, numbers[part]);
}

/* operation, line: that of which it has most. */
static int fill_cell(const struct run *run, const struct row *row, enum part part, u32 operation,
		     u32 line, struct report_cell *cell)
{
	char *const *strings = run->places.strings.strings;

	switch (part) {
	case PART_THREAD:
	case PART_PROCESS:
		return fill_text(cell, row->who);
	case PART_OPERATION:
		return fill_text(cell, run->operation_names.strings[operation]);
	case PART_MODULE:
		return fill_text(
			cell,
			strings[is_by_module(run->request) ? row->place.unit : row->place.module]);
	case PART_LINE:
		return fill_text(cell, strings[line]);
	case PART_NAME:
		return report_cell_text(cell, strings[row->place.name]);
	default:
		fill_number(run, row, part, cell);
		return 0;
	}
}

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct run *run = data;
	u32 left = *(const u32 *)a, right = *(const u32 *)b;
	bool known = run->rows[left].place.known;

	/* It is most of the time then, and nothing is to be learned of it. */
	if (run->are_first && known != run->rows[right].place.known)
		return known ? -1 : 1;
	if (run->rows[left].ns != run->rows[right].ns)
		return run->rows[left].ns < run->rows[right].ns ? 1 : -1;
	return (left > right) - (left < right);
}

/* What is said at the row of what has no stack. */
static int add_note(const struct run *run, struct report_row *row)
{
	_cleanup_text_ struct text note = {0};

	if (run->launches_with_stack < run->launches)
		text_appendf(
			&note,
			"%" PRIu64 " of %" PRIu64
			" launches (%.1f %%) have a stack%s; what they say of all is estimated",
			run->launches_with_stack, run->launches,
			100.0 * (double)run->launches_with_stack / (double)run->launches,
			run->by_chance	 ? ", taken by chance"
			: run->are_first ? ", the first ones"
					 : "");
	if (run->without_launch)
		text_appendf(&note, "%sthe calls that launched %" PRIu64 " were not recorded",
			     note.length ? "; " : "", run->without_launch);
	if (note.failed)
		return -ENOMEM;
	row->note = take_pointer(&note.data);
	return 0;
}

static int fill_row(const struct run *run, const struct row *row, u32 operation, u32 line,
		    struct report_table *table)
{
	struct report_row *made = report_table_add(table);
	size_t column = 0;

	if (!made)
		return -ENOMEM;
	made->marked = row->place.replays && !is_by_module(run->request);
	for (enum part i = 0; i < PARTS; i++)
		if (has_part(run, i) &&
		    fill_cell(run, row, i, operation, line, &made->cells[column++]))
			return -ENOMEM;
	return row->place.known ? 0 : add_note(run, made);
}

static int fill_table(struct run *run, struct report_table *table)
{
	size_t count = run->keys.count;
	_cleanup_free_ u32 *order = calloc(count + 1, sizeof(*order));
	_cleanup_free_ u32 *operations = calloc(count + 1, sizeof(*operations));
	_cleanup_free_ u32 *lines = calloc(count + 1, sizeof(*lines));
	int result = 0;

	if (!order || !operations || !lines)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = (u32)i;
	qsort_r(order, count, sizeof(*order), compare_rows, run);
	tally_most(&run->operations, operations, count);
	tally_most(&run->lines, lines, count);
	for (size_t i = 0; i < count && !result; i++)
		result = fill_row(run, &run->rows[order[i]], operations[order[i]], lines[order[i]],
				  table);
	return result;
}

static void run_free(void *data)
{
	struct run *run = data;

	launch_places_free(&run->places);
	string_table_free(&run->keys);
	string_table_free(&run->operation_names);
	tally_free(&run->operations);
	tally_free(&run->lines);
	free(run->rows);
	free(run->seen);
	free(run);
}

static const char *title_of(const struct report_request *request)
{
#define OF_ALL(what)                                                 \
	{                                                            \
		"GPU time by " what, "GPU time by thread and " what, \
			"GPU time by process and " what              \
	}
	static const char *const titles[][3] = {
		OF_ALL("function that launched it"),
		OF_ALL("line of code that launched it"),
		OF_ALL("module that launched it"),
	};
#undef OF_ALL

	return titles[request->by_line	      ? 1
		      : is_by_module(request) ? 2
					      : 0][request->by_thread	 ? 1
						   : request->by_process ? 2
									 : 0];
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;

	table->marked_note = strdup(REPLAY_NOTE);
	return !table->marked_note || make_columns(run, table) || fill_table(run, table)
		       ? err_errno(err, -ENOMEM, "can't make the report gpu_code")
		       : 0;
}

int report_gpu_code_begin(struct view *view, const struct report_request *request,
			  struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink sink = {.open = run_open, .span = run_span};
	struct run *run = calloc(1, sizeof(*run));
	bool any = view_kind_count(view, KIND_launch_stack);

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report gpu_code");
	*run = (struct run){.view = view, .request = request, .places = {.view = view}};
	table->title = title_of(request);
	table->empty = any ? "No GPU did anything."
			   : "No stacks of launches were taken (--launch-stacks all takes them).";
	*ret_run = (struct report_run){.data = run, .fill = run_fill, .free = run_free};
	if (any)
		ret_run->part = (struct view_part){&sink, run};
	return 0;
}
