/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reports of samples: "cpu", by function, or line of source, of all threads or of each thread or process; "cpu_paths", by function, with
 * the way that led there most of the time. Self is what ran there itself, total what ran there or in what was called from there; what is
 * in a stack twice counts once.
 * In "cpu_paths", which screens show, threads too short for samples of their own share those of their process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/path.h"
#include "reports/cpu_pools.h"
#include "reports/report_table.h"

enum column { COLUMN_SHARE, COLUMN_SELF, COLUMN_TOTAL, COLUMN_SAMPLES, COLUMN_FIGURES };

/* Behind the figures. */
#define COLUMN_STACK COLUMN_FIGURES /* of cpu_paths */
#define COLUMNS_MAX  (COLUMN_FIGURES + 5)

#define SHARED_NOTE                                                                                \
	"Mostly estimated for many threads at once: those that ran too short for five samples of " \
	"their own share those of their process."

static const struct report_column figure_columns[COLUMN_FIGURES] = {
	[COLUMN_SHARE] = {"Self (%)", REPORT_DECIMAL, 1},
	[COLUMN_SELF] = {"Self (ns)", REPORT_COUNT},
	[COLUMN_TOTAL] = {"Total (ns)", REPORT_COUNT},
	[COLUMN_SAMPLES] = {"Samples", REPORT_COUNT},
};

/* What can stand behind them, in this order. */
enum part {
	PART_PID,
	PART_TID,
	PART_THREAD,
	PART_PROCESS,
	PART_LINE,
	PART_MODULE,
	PART_NAME,
	PART_STACK,
	PARTS
};

static const struct report_column part_columns[PARTS] = {
	[PART_PID] = {"PID", REPORT_NUMBER},	 [PART_TID] = {"TID", REPORT_NUMBER},
	[PART_THREAD] = {"Thread", REPORT_NAME}, [PART_PROCESS] = {"Process", REPORT_NAME},
	[PART_LINE] = {"Line", REPORT_NAME},	 [PART_MODULE] = {"Module", REPORT_NAME},
	[PART_NAME] = {"Name", REPORT_NAME},	 [PART_STACK] = {"Stack", REPORT_LINES},
};

struct place {
	u64 self_ns, total_ns, samples;
	u64 shared_ns; /* of self_ns what pools say */
	char *where;   /* its module or line */
	char *name;
	u32 pid, tid;	 /* whose, where rows are those of processes or threads */
	const char *who; /* of the view, or NULL */
	size_t path; /* 1 + the place in stacks of that with the most time that ends in it, a whole one where there is one; 0: none */
};

/* What a stack leads through: numbers of places, innermost first, each once. */
struct stack {
	size_t first, count;
	u64 ns;
	u32 pid, id;
	bool whole;
};

/* Whose rows: of a thread, a process, or of all. */
struct owner {
	u32 pid, tid; /* 0: of all */
	const char *name;
};

struct run {
	const struct view *view;
	bool with_path, by_line, by_thread, by_process; /* a thread is one of a process */
	struct string_table keys; /* of places: where, name, and whose, line feeds between */
	struct place *places;
	size_t place_capacity;
	struct map known; /* (process and thread, stack) -> place in stacks */
	struct stack *stacks;
	size_t stack_count, stack_capacity;
	u32 *steps; /* of all stacks */
	size_t step_count, step_capacity;
	u64 all_ns;
	struct cpu_pools pools; /* with_path only */
};

static struct owner owner_of(const struct run *run, const struct view_event *event)
{
	if (run->by_thread)
		return (struct owner){event->record->pid, event->record->tid, event->row->name};
	if (run->by_process)
		return (struct owner){event->record->pid, 0, event->row->process_name};
	return (struct owner){0};
}

/* The number of a place. -ENOMEM. */
static s64 place_number(struct run *run, const struct owner *owner, const char *where,
			const char *name)
{
	_cleanup_text_ struct text key = {0};
	size_t before = run->keys.count;
	s64 number;

	text_appendf(&key, "%s\n%s", where, name);
	if (owner->pid)
		text_appendf(&key, "\n%u %u", owner->pid, owner->tid);
	number = key.failed ? -ENOMEM : string_table_add(&run->keys, key.data, key.length);
	if (number < 0 || run->keys.count == before)
		return number;
	if (array_reserve(&run->places, &run->place_capacity, run->keys.count))
		return -ENOMEM;
	run->places[number] = (struct place){.where = strdup(where),
					     .name = strdup(name),
					     .pid = owner->pid,
					     .tid = owner->tid,
					     .who = owner->name};
	return run->places[number].where && run->places[number].name ? number : -ENOMEM;
}

static s64 frame_number(struct run *run, const struct owner *owner, const struct view_frame *frame)
{
	_cleanup_text_ struct text name = {0};
	_cleanup_text_ struct text line = {0};
	struct view_frame function = *frame;

	/* It ran, whether or not it is certain that it was called from there. */
	function.guessed = false;
	view_frame_append_name(&function, &name);
	if (run->by_line && frame->file[0])
		text_appendf(&line, "%s:%u", frame->file, frame->line);
	if (name.failed || line.failed)
		return -ENOMEM;
	return place_number(run, owner, run->by_line ? text_string(&line) : frame->module,
			    text_string(&name));
}

static int add_step(struct run *run, struct stack *stack, s64 number)
{
	if (number < 0)
		return -ENOMEM;
	for (size_t i = 0; i < stack->count; i++)
		if (run->steps[stack->first + i] == number)
			return 0;
	if (array_reserve(&run->steps, &run->step_capacity, run->step_count + 1))
		return -ENOMEM;
	run->steps[run->step_count++] = (u32)number;
	stack->count++;
	return 0;
}

static int read_stack(struct run *run, const struct owner *owner,
		      const struct record_header *record, struct stack *stack)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(run->view, record->pid, record->stack, &frames, &cut);
	int result = 0;

	stack->whole = !cut;
	stack->first = run->step_count;
	for (size_t i = 0; i < count && !result; i++)
		result = add_step(run, stack, frame_number(run, owner, &frames[i]));
	if (!result && !count)
		result = add_step(run, stack, place_number(run, owner, "", VIEW_NO_STACK));
	return result;
}

/* NULL: no memory. */
static struct stack *stack_of(struct run *run, const struct view_event *event)
{
	const struct record_header *record = event->record;
	struct owner owner = owner_of(run, event);
	u64 whose = (u64)record->pid << 32 | owner.tid;
	u64 *known = map_find(&run->known, whose, record->stack);

	if (known)
		return &run->stacks[*known];
	if (array_reserve(&run->stacks, &run->stack_capacity, run->stack_count + 1))
		return NULL;
	run->stacks[run->stack_count] = (struct stack){.pid = record->pid, .id = record->stack};
	if (read_stack(run, &owner, record, &run->stacks[run->stack_count]) ||
	    map_set(&run->known, whose, record->stack, run->stack_count))
		return NULL;
	return &run->stacks[run->stack_count++];
}

/* A sample of this stack stands for so long. Where it ran. */
static struct place *add_sample(struct run *run, struct stack *stack, u64 ns)
{
	struct place *place = &run->places[run->steps[stack->first]];

	place->self_ns += ns;
	place->samples++;
	for (size_t i = 0; i < stack->count; i++)
		run->places[run->steps[stack->first + i]].total_ns += ns;
	stack->ns += ns;
	run->all_ns += ns;
	return place;
}

static int run_point(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	struct stack *stack;
	int pooled = 0;

	if (event->kind->number != KIND_sample)
		return 0;
	stack = stack_of(run, event);
	if (stack && run->with_path)
		pooled = cpu_pools_add_sample(&run->pools, event, stack - run->stacks);
	if (!stack || pooled < 0)
		return err_errno(err, -ENOMEM, "can't make a report of samples");
	if (!pooled)
		add_sample(run, stack, event->weight_ns);
	return 0;
}

static int add_without_stack(struct run *run, const struct owner *owner, const char *why, u64 ns)
{
	s64 number = place_number(run, owner, "", why);

	if (number < 0)
		return -ENOMEM;
	run->places[number].self_ns += ns;
	run->places[number].total_ns += ns;
	run->all_ns += ns;
	return 0;
}

static int share_one(void *data, size_t stack, u64 ns)
{
	const struct owner all = {0};
	struct run *run = data;

	if (stack == CPU_POOL_NO_STACK)
		return add_without_stack(run, &all, VIEW_WALL_UNSAMPLED, ns);
	add_sample(run, &run->stacks[stack], ns)->shared_ns += ns;
	return 0;
}

/* What ran, and no sample tells where. */
static int run_total(void *data, const struct view_event *event, struct err *err)
{
	struct view_wall_piece pieces[VIEW_WALL_PIECES_MAX];
	struct run *run = data;
	size_t count = event->kind->number == KIND_thread_time
			       ? view_wall_pieces(run->view, event, pieces)
			       : 0;
	struct owner owner = owner_of(run, event);
	u64 unsampled_ns = 0;
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		if (pieces[i].state != VIEW_WALL_RUNNING)
			continue;
		if (run->with_path && !strcmp(pieces[i].why, VIEW_WALL_UNSAMPLED))
			unsampled_ns += pieces[i].ns;
		else
			result = add_without_stack(run, &owner, pieces[i].why, pieces[i].ns);
	}
	if (result == 0 && run->with_path && event->kind->number == KIND_thread_time)
		result = cpu_pools_add_thread(&run->pools, event, unsampled_ns);
	return result ? err_errno(err, result, "can't make a report of samples") : 0;
}

/* One that is whole tells more than one that is cut. */
static bool is_better(const struct stack *stack, const struct stack *than)
{
	return stack->whole != than->whole ? stack->whole : stack->ns > than->ns;
}

static void choose_paths(struct run *run)
{
	for (size_t i = 0; i < run->stack_count; i++) {
		struct place *place = &run->places[run->steps[run->stacks[i].first]];

		if (!place->path || is_better(&run->stacks[i], &run->stacks[place->path - 1]))
			place->path = i + 1;
	}
}

static bool is_same_function(const struct view_frame *a, const struct view_frame *b)
{
	return a->name[0] && !strcmp(a->name, b->name) && !strcmp(a->module, b->module) &&
	       a->function_line == b->function_line;
}

/* The callers, a line each. One that calls itself stands there once. */
static void append_path(const struct run *run, const struct stack *stack, struct text *text)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(run->view, stack->pid, stack->id, &frames, &cut);

	for (size_t i = 1; i < count; i++) {
		if (is_same_function(&frames[i], &frames[i - 1]) && !frames[i].guessed)
			continue;
		view_frame_append_name(&frames[i], text);
		text_append_char(text, '\n');
	}
	if (cut)
		text_appendf(text, "%s\n", cut);
}

static int fill_path(const struct run *run, size_t number, struct report_cell *cell)
{
	size_t path = run->places[number].path;
	_cleanup_text_ struct text text = {0};

	text_appendf(&text, "%s\n", run->places[number].name);
	if (path)
		append_path(run, &run->stacks[path - 1], &text);
	return text.failed ? -ENOMEM : report_cell_text(cell, text_string(&text));
}

/* The cells behind the figures. */
static int fill_where(const struct run *run, const struct place *place, struct report_cell *cell)
{
	if (run->by_thread || run->by_process)
		report_cell_count(cell++, place->pid);
	if (run->by_thread)
		report_cell_count(cell++, place->tid);
	if ((run->by_thread || run->by_process) &&
	    report_cell_text(cell++, place->who ? place->who : ""))
		return -ENOMEM;
	if (place->where[0] && report_cell_text(cell, place->where))
		return -ENOMEM;
	return report_cell_text(cell + 1, place->name);
}

static int fill_row(const struct run *run, size_t number, struct report_row *row)
{
	const struct place *place = &run->places[number];

	report_cell_decimal(&row->cells[COLUMN_SHARE],
			    run->all_ns ? 100.0 * (double)place->self_ns / (double)run->all_ns : 0);
	report_cell_count(&row->cells[COLUMN_SELF], place->self_ns);
	report_cell_count(&row->cells[COLUMN_TOTAL], place->total_ns);
	report_cell_count(&row->cells[COLUMN_SAMPLES], place->samples);
	row->marked = place->shared_ns > place->self_ns / 2;
	if (run->with_path)
		return fill_path(run, number, &row->cells[COLUMN_STACK]);
	return fill_where(run, place, &row->cells[COLUMN_FIGURES]);
}

/* Numbers of places. */
static int compare_places(const void *a, const void *b, void *data)
{
	const struct run *run = data;
	const struct place *left = &run->places[*(const u32 *)a];
	const struct place *right = &run->places[*(const u32 *)b];

	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	return strcmp(run->keys.strings[*(const u32 *)a], run->keys.strings[*(const u32 *)b]);
}

static void run_free(void *data)
{
	struct run *run = data;

	for (size_t i = 0; run->places && i < run->keys.count; i++)
		free(run->places[i].where), free(run->places[i].name);
	free(run->places);
	string_table_free(&run->keys);
	map_free(&run->known);
	free(run->stacks);
	free(run->steps);
	cpu_pools_free(&run->pools);
	free(run);
}

static int fill_table(struct run *run, struct report_table *table)
{
	_cleanup_free_ u32 *order = calloc(run->keys.count + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < run->keys.count; i++)
		order[i] = (u32)i;
	qsort_r(order, run->keys.count, sizeof(*order), compare_places, run);
	choose_paths(run);
	for (size_t i = 0; i < run->keys.count; i++) {
		struct report_row *row;

		/* What only called is on the way, and no row of its own. */
		if (run->with_path && !run->places[order[i]].self_ns)
			break;
		row = report_table_add(table);
		if (!row || fill_row(run, order[i], row))
			return -ENOMEM;
	}
	return 0;
}

static const char *title_of(const struct run *run)
{
	if (run->with_path)
		return "CPU time by function, with the way that led there most of the time "
		       "(innermost function first)";
	if (run->by_thread)
		return run->by_line
			       ? "CPU time by thread and line (where threads ran, by samples)"
			       : "CPU time by thread and function (where threads ran, by samples)";
	if (run->by_process)
		return run->by_line
			       ? "CPU time by process and line (where threads ran, by samples)"
			       : "CPU time by process and function (where threads ran, by samples)";
	return run->by_line ? "CPU time by line (where threads ran, by samples)"
			    : "CPU time by function (where threads ran, by samples)";
}

static int make_columns(const struct run *run, struct report_table *table)
{
	const bool has[PARTS] = {
		[PART_PID] = run->by_thread || run->by_process,
		[PART_TID] = run->by_thread,
		[PART_THREAD] = run->by_thread,
		[PART_PROCESS] = run->by_process && !run->by_thread,
		[PART_LINE] = run->by_line,
		[PART_MODULE] = !run->by_line && !run->with_path,
		[PART_NAME] = !run->with_path,
		[PART_STACK] = run->with_path,
	};

	table->made_columns = calloc(COLUMNS_MAX, sizeof(*table->made_columns));
	if (!table->made_columns)
		return -ENOMEM;
	memcpy(table->made_columns, figure_columns, sizeof(figure_columns));
	table->columns = table->made_columns;
	table->column_count = COLUMN_FIGURES;
	for (size_t i = 0; i < PARTS; i++)
		if (has[i])
			table->made_columns[table->column_count++] = part_columns[i];
	return 0;
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;

	return cpu_pools_share(&run->pools, share_one, run) || make_columns(run, table) ||
			       fill_table(run, table)
		       ? err_errno(err, -ENOMEM, "can't make a report of samples")
		       : 0;
}

int report_cpu_begin(struct view *view, const struct report_request *request,
		     struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink sink = {.point = run_point, .total = run_total};
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report %s", request->report->name);
	*run = (struct run){.view = view,
			    .with_path = !strcmp(request->report->name, "cpu_paths"),
			    .by_line = request->by_line,
			    .by_thread = request->by_thread,
			    .by_process = request->by_process};
	table->title = title_of(run);
	table->empty = "No samples were taken.";
	if (run->by_line)
		table->empty_cells = "Rows without a line: there is no debug information.";
	if (run->with_path)
		table->marked_note = strdup(SHARED_NOTE);
	*ret_run = (struct report_run){
		.data = run, .part = {&sink, run}, .fill = run_fill, .free = run_free};
	return 0;
}
