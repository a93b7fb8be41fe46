/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report time_sum: where the time of the window went, of each process that gives a GPU work: each moment is of one row, the first that holds of
 * what its GPUs and then those of its threads do that ever launch. Of a process whose GPU work was recorded up to a moment only it is the time up
 * to then; and where calls or waits ended before that, it is said that why a GPU is idle is not known. Two runs: which threads launch, then all from one change to the next.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "reports/report_gpu_doubts.h"
#include "view/gpu_edge.h"

enum column { COLUMN_SHARE, COLUMN_TOTAL, COLUMN_NAME, COLUMN_COUNT };

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_SHARE] = {"Time (%)", REPORT_DECIMAL, 1},
	[COLUMN_TOTAL] = {"Total Time (ns)", REPORT_COUNT},
	[COLUMN_NAME] = {"What", REPORT_TEXT},
};

/* What a thread does that launches, the first that holds of any of them is what counts. */
enum state { STATE_CALL, STATE_CODE, STATE_SYNC, STATE_WAIT, STATES };

/* Rows, in their order. */
enum place {
	PLACE_KERNEL,
	PLACE_MEMORY,
	PLACE_CALL,
	PLACE_CODE,
	PLACE_CODE_OR_WAIT, /* waits are not recorded any more */
	PLACE_SYNC,
	PLACE_WAIT,
	PLACE_UNKNOWN, /* calls are not recorded any more */
	PLACE_UNSEEN,
	PLACES
};

static const char *const place_names[PLACES] = {
	[PLACE_KERNEL] = "a GPU runs kernels",
	[PLACE_MEMORY] = "a GPU only copies or sets memory",
	[PLACE_CALL] = "GPU idle: a thread that launches is in a CUDA call",
	[PLACE_CODE] = "GPU idle: a thread that launches runs other code",
	[PLACE_CODE_OR_WAIT] = "GPU idle: threads that launch run other code, or wait",
	[PLACE_SYNC] = "GPU idle: a thread that launches is in a call that waits for a GPU",
	[PLACE_WAIT] = "GPU idle: all threads that launch wait",
	[PLACE_UNSEEN] = "not known: before the first work",
	[PLACE_UNKNOWN] = "GPU idle: why is not known, calls of CUDA were recorded no more",
};
/* Where no launches are recorded. */
static const char only_idle[] = "GPU idle";

struct thread {
	bool launches;
	u32 calls, syncs, waits; /* that it is in */
	enum state state;
};

struct process {
	u32 kernels, copies;	   /* that run */
	u32 thread_counts[STATES]; /* of those that launch */
	u64 place_ns[PLACES], since_ns;
	u64 until_ns;			    /* up to when its GPU work was recorded */
	u64 calls_until_ns, waits_until_ns; /* and what says why a GPU is idle */
	u64 unseen_until_ns;
	struct gpu_edge edge;
};

struct run {
	const struct view *view;
	u64 start_ns;
	struct thread *threads; /* [row] */
	struct map places;	/* pid -> place in processes */
	struct process *processes;
	size_t count, capacity;
	bool launches; /* of any thread are known */
	bool measures; /* the second run */
};

static bool is_kernel(u16 kind)
{
	return kind == KIND_kernel || kind == KIND_graph_launch;
}

static bool is_memory(u16 kind)
{
	return kind == KIND_copy || kind == KIND_set;
}

/* ---- the first run: who launches ---- */

static struct process *process_of(struct run *run, u32 pid)
{
	const u64 *known = map_find(&run->places, pid, 0);

	return known ? &run->processes[*known] : NULL;
}

static struct process *process_make(struct run *run, u32 pid)
{
	struct process *process = process_of(run, pid);

	if (process)
		return process;
	if (array_reserve(&run->processes, &run->capacity, run->count + 1) < 0 ||
	    map_set(&run->places, pid, 0, run->count) < 0)
		return NULL;
	process = &run->processes[run->count++];
	*process = (struct process){
		.since_ns = run->start_ns,
		.until_ns = view_recorded_until(run->view, VALUE_recorded_sort_gpu, pid),
		.calls_until_ns =
			view_recorded_until(run->view, VALUE_recorded_sort_cuda_calls, pid),
		.waits_until_ns = view_recorded_until(run->view, VALUE_recorded_sort_waits, pid),
	};
	return process;
}

static int find_launch(struct run *run, const struct view_event *event, struct err *err)
{
	struct process *process;

	if (!is_kernel(event->kind->number) && !is_memory(event->kind->number))
		return 0;
	process = process_make(run, event->record->pid);
	if (!process)
		return err_errno(err, -ENOMEM, "can't make the report time_sum");
	gpu_edge_add(&process->edge, run->view, event);
	if (event->cause)
		run->launches = run->threads[event->cause->row_index].launches = true;
	return 0;
}

/* ---- the second run: from one change to the next ---- */

static enum place place_of(const struct process *process)
{
	static const enum place of_state[STATES] = {
		[STATE_CALL] = PLACE_CALL,
		[STATE_CODE] = PLACE_CODE,
		[STATE_SYNC] = PLACE_SYNC,
		[STATE_WAIT] = PLACE_WAIT,
	};

	if (process->kernels)
		return PLACE_KERNEL;
	if (process->copies)
		return PLACE_MEMORY;
	for (unsigned i = 0; i < STATES; i++)
		if (process->thread_counts[i])
			return of_state[i];
	return PLACE_WAIT;
}

/* As far as it is known since its last change. */
static enum place known_place_of(const struct run *run, const struct process *process)
{
	enum place place = place_of(process);

	if (place >= PLACE_CALL && process->since_ns < process->unseen_until_ns)
		return PLACE_UNSEEN;
	if (place < PLACE_CALL || !run->launches)
		return place;
	if (process->since_ns >= process->calls_until_ns)
		return PLACE_UNKNOWN;
	return place == PLACE_CODE && process->since_ns >= process->waits_until_ns
		       ? PLACE_CODE_OR_WAIT
		       : place;
}

/* The first that comes behind `since`: a moment at which something ended, or ts. */
static u64 next_moment(const struct process *process, u64 ts)
{
	const u64 ends_ns[] = {process->unseen_until_ns, process->calls_until_ns,
			       process->waits_until_ns};

	for (size_t i = 0; i < ARRAY_SIZE(ends_ns); i++)
		if (ends_ns[i] > process->since_ns && ends_ns[i] < ts)
			ts = ends_ns[i];
	return ts;
}

static void advance(const struct run *run, struct process *process, u64 ts)
{
	u64 now_ns = ts < process->until_ns ? ts : process->until_ns;

	while (process->since_ns < now_ns) {
		u64 next_ns = next_moment(process, now_ns);

		process->place_ns[known_place_of(run, process)] += next_ns - process->since_ns;
		process->since_ns = next_ns;
	}
}

static enum state state_of(const struct thread *thread)
{
	if (thread->syncs)
		return STATE_SYNC;
	if (thread->calls)
		return STATE_CALL;
	return thread->waits ? STATE_WAIT : STATE_CODE;
}

static void change(struct run *run, const struct view_event *event, u64 ts, int by)
{
	struct process *process = process_of(run, event->record->pid);
	struct thread *thread = &run->threads[event->row_index];
	u16 kind = event->kind->number;

	if (!process)
		return;
	if (is_kernel(kind) || is_memory(kind)) {
		advance(run, process, ts);
		*(is_kernel(kind) ? &process->kernels : &process->copies) += by;
		return;
	}
	if (!thread->launches || (kind != KIND_api && kind != KIND_off_cpu))
		return;
	advance(run, process, ts);
	if (kind == KIND_off_cpu)
		thread->waits += by;
	else if (strstr(event->name, "Synchronize"))
		thread->syncs += by;
	else
		thread->calls += by;
	process->thread_counts[thread->state]--;
	thread->state = state_of(thread);
	process->thread_counts[thread->state]++;
}

static void begin_measuring(struct run *run)
{
	const struct view_survey *survey = view_survey(run->view);

	run->measures = true;
	for (size_t i = 0; i < run->count; i++)
		run->processes[i].unseen_until_ns =
			gpu_edge_until(&run->processes[i].edge, run->start_ns);
	for (size_t i = 0; i < survey->row_count; i++) {
		struct process *process = process_of(run, survey->rows[i].pid);

		run->threads[i].state = STATE_CODE;
		if (process && run->threads[i].launches)
			process->thread_counts[STATE_CODE]++;
	}
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;

	if (!run->measures)
		return find_launch(run, event, err);
	change(run, event, event->ts, 1);
	return 0;
}

static int run_end(void *data, const struct view_event *event, struct err *err)
{
	change(data, event, event->end, -1);
	return 0;
}

/* ---- rows ---- */

static const char *place_name(const struct run *run, enum place place)
{
	if (place >= PLACE_CALL && place != PLACE_UNSEEN && !run->launches)
		return only_idle;
	if (place == PLACE_CODE && !view_kind_count(run->view, KIND_off_cpu))
		return place_names[PLACE_CODE_OR_WAIT];
	return place_names[place];
}

static int fill_table(struct run *run, struct report_table *table)
{
	_cleanup_text_ struct text note = {0};
	bool is_shared = report_append_gpu_doubts(run->view, &note);
	double recorded_ns = 0;

	for (size_t i = 0; i < run->count; i++)
		recorded_ns += run->processes[i].until_ns - run->start_ns;
	for (enum place place = 0; place < PLACES; place++) {
		struct report_row *row;
		u64 sum_ns = 0;

		for (size_t i = 0; i < run->count; i++)
			sum_ns += run->processes[i].place_ns[place];
		if (!sum_ns)
			continue;
		row = report_table_add(table);
		if (!row || report_cell_text(&row->cells[COLUMN_NAME], place_name(run, place)) < 0)
			return -ENOMEM;
		report_cell_decimal(&row->cells[COLUMN_SHARE], 100.0 * sum_ns / recorded_ns);
		report_cell_count(&row->cells[COLUMN_TOTAL], sum_ns);
		row->marked = is_shared && place >= PLACE_CALL;
	}
	if (is_shared)
		table->marked_note = note.failed ? NULL : strdup(text_string(&note));
	return is_shared && !table->marked_note ? -ENOMEM : 0;
}

static void run_free(void *data)
{
	struct run *run = data;

	free(run->threads);
	free(run->processes);
	map_free(&run->places);
	free(run);
}

/* Once more, where anything launched. */
static int run_then(struct report_run *report, struct err *err)
{
	static const struct view_sink changes = {.span = run_span, .end = run_end};
	struct run *run = report->data;

	(void)err;
	if (run->measures || !run->count)
		return 0;
	begin_measuring(run);
	report->part = (struct view_part){&changes, run};
	return 0;
}

static int run_fill(void *data, struct report_table *table, struct err *err)
{
	struct run *run = data;
	int result = 0;

	for (size_t i = 0; i < run->count; i++)
		advance(run, &run->processes[i], run->processes[i].until_ns);
	if (run->count)
		result = fill_table(run, table);
	return result < 0 ? err_errno(err, -ENOMEM, "can't make the report time_sum") : 0;
}

int report_time_begin(struct view *view, const struct report_request *request,
		      struct report_table *table, struct report_run *ret_run, struct err *err)
{
	static const struct view_sink launches = {.span = run_span};
	const struct view_survey *survey = view_survey(view);
	struct run *run = calloc(1, sizeof(*run));

	(void)request;
	if (!run)
		return err_errno(err, -ENOMEM, "can't make the report time_sum");
	*run = (struct run){
		.view = view,
		.start_ns = survey->window_start_ns,
		.threads = calloc(survey->row_count + 1, sizeof(*run->threads)),
	};
	table->title = "Where the time of processes that use a GPU went";
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	*ret_run = (struct report_run){.data = run,
				       .part = {&launches, run},
				       .then = run_then,
				       .fill = run_fill,
				       .free = run_free};
	return run->threads ? 0 : err_errno(err, -ENOMEM, "can't make the report time_sum");
}
