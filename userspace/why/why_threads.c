/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Behind the first run: what threads did in the gaps that their launches ended, or in which those waited for them, from one change of their state to the next. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "why/why_chain.h"
#include "why/why_code.h"
#include "why/why_cursor.h"
#include "why/why_describe.h"
#include "why/why_parts.h"
#include "why/why_waits.h"

struct run {
	const struct view *view;
	struct why_tally *tally;
	struct why_cursor *cursors; /* [gpu] */
	struct why_thread *threads; /* [row] */
	struct map rows;	    /* (pid, tid) -> row */
	struct map gil_owners; /* process -> row of who got its GIL last, of those that waited */
	struct why_code code;
	struct why_describe describe;
	struct why_waits waits;
	bool has_waits;
	bool asks; /* there are gaps that a thread is to be asked for */
};

/* ---- what a thread does, as a cause ---- */

struct part {
	u32 gpu;
	const struct why_cursor *cursor;
	size_t row; /* of the thread that acts */
	u64 since_ns, until_ns;
};

/* For what the thread of the gap waits; where that is what another one does, and this one waits for requests, for these. */
static enum why_wait wait_of(const struct run *run, const struct part *part, enum why_sort sort)
{
	const struct why_gap *gap = &part->cursor->gap;

	if (sort == WHY_WAIT && run->threads[part->row].wait_for == WHY_WAIT_REQUESTS)
		return WHY_WAIT_REQUESTS;
	return part->row != gap->row || sort == WHY_WAIT ? run->threads[gap->row].wait_for
							 : WHY_WAIT_NONE;
}

static struct why_cause cause_of(const struct run *run, const struct part *part, enum why_sort sort)
{
	const struct why_gap *gap = &part->cursor->gap;

	return (struct why_cause){
		.gpu = part->gpu,
		.sort = sort,
		.row_index = part->row,
		.waiter = part->row == gap->row ? WHY_NO_ROW : gap->row,
		.wait = wait_of(run, part, sort),
		.held = part->cursor->held,
		.held_until_ns = part->cursor->held_until_ns,
		.is_long = gap->until_ns - gap->since_ns >= WHY_LONG_NS,
	};
}

static int add(struct run *run, const struct part *part, enum why_sort sort, s64 what)
{
	const struct why_cause cause = cause_of(run, part, sort);

	if (what < 0)
		return -ENOMEM;
	return why_tally_add(run->tally, &cause, (u32)what, part->cursor->gap.number,
			     part->since_ns, part->until_ns);
}

/* It waited up to ready_ns, then had no CPU. */
static int add_wait(struct run *run, const struct part *part, const struct why_thread *thread)
{
	const struct record_off_cpu *wait = &thread->wait;

	if (wait->reason == VALUE_off_cpu_reason_preempted && wait->throttled)
		return add(run, part, WHY_THROTTLED, why_describe_throttling(&run->describe, wait));
	if (wait->reason == VALUE_off_cpu_reason_preempted)
		return add(run, part, WHY_PREEMPTED, why_describe_preemption(&run->describe, wait));
	if (part->since_ns >= thread->ready_ns)
		return add(run, part, WHY_WOKEN,
			   why_describe_wait(&run->describe, wait, thread->wait_name, true));
	return add(run, part, wait->reason == VALUE_off_cpu_reason_stopped ? WHY_STOPPED : WHY_WAIT,
		   why_describe_wait(&run->describe, wait, thread->wait_name, false));
}

static int add_code(struct run *run, const struct part *part, const struct why_thread *thread)
{
	const struct why_cause cause = cause_of(run, part, WHY_UNSAMPLED);
	s64 what = cause.waiter == WHY_NO_ROW
			   ? why_describe_launch(&run->describe, &part->cursor->gap)
			   : run->code.unknown;

	if (!run->has_waits || part->since_ns >= thread->waits_until_ns)
		return add(run, part, WHY_CODE_OR_WAIT, what);
	if (what < 0)
		return -ENOMEM;
	return why_code_add(&run->code, &cause, (u32)what, part->cursor->gap.number, part->since_ns,
			    part->until_ns);
}

static s64 describe_call(struct run *run, size_t row, u32 stack)
{
	return why_describe_call(&run->describe, run->threads[row].call,
				 view_survey(run->view)->rows[row].pid, stack);
}

/* Nothing was recorded yet of the gap's thread, which may begin only later, or nothing more is, and it may have ended; else WHY_SORTS. */
static enum why_sort edge_of(const struct run *run, const struct part *part)
{
	const struct why_gap *gap = &part->cursor->gap;
	const struct why_thread *thread = &run->threads[gap->row];

	if (part->row == gap->row && gap->is_first && !thread->is_seen)
		return WHY_NO_THREAD;
	if (part->row == gap->row && gap->is_last && !thread->calls && !thread->waits &&
	    part->since_ns >= thread->seen_ns)
		return WHY_LAST;
	return WHY_SORTS;
}

static int add_without_thread(struct run *run, const struct part *part, enum why_sort sort)
{
	const struct why_cause cause = {.gpu = part->gpu,
					.sort = sort,
					.row_index = WHY_NO_ROW,
					.waiter = WHY_NO_ROW,
					.held = WHY_NOT_HELD};

	return why_tally_add(run->tally, &cause, run->code.unknown, part->cursor->gap.number,
			     part->since_ns, part->until_ns);
}

/* In one state, and nothing ended in it. */
static int add_part(struct run *run, const struct part *part)
{
	const struct why_thread *thread = &run->threads[part->row];
	enum why_sort edge = edge_of(run, part);

	if (edge != WHY_SORTS)
		return add_without_thread(run, part, edge);
	if (part->since_ns >= thread->calls_until_ns)
		return add(run, part, WHY_NO_CALLS, run->code.unknown);
	if (thread->calls && !why_thread_is_ready(thread, part->since_ns))
		return add(run, part, thread->call_syncs ? WHY_SYNC : WHY_CALL,
			   describe_call(run, part->row, thread->made_by));
	return thread->waits ? add_wait(run, part, thread) : add_code(run, part, thread);
}

/* ---- from one change to the next ---- */

/* It waits for a GPU no more, and would go on if it, or who is to tell it, had a CPU: what it waited for is no reason then. */
static bool is_late(const struct run *run, const struct why_thread *thread, u64 ts)
{
	return thread->call_syncs &&
	       (why_thread_is_ready(thread, ts) || why_chain_follows(run->threads, thread, ts));
}

/* What its thread was in when the gap began that is to be told of next. */
static int hold(struct run *run, struct why_cursor *cursor)
{
	const struct why_thread *thread = &run->threads[cursor->gap.row];
	s64 held;

	cursor->has_held = true;
	cursor->held = WHY_NOT_HELD;
	cursor->held_until_ns = 0;
	if (!thread->calls || thread->call_launches || is_late(run, thread, cursor->gap.since_ns))
		return 0;
	held = describe_call(run, cursor->gap.row, thread->call_stack);
	if (held < 0)
		return -ENOMEM;
	cursor->held = (u32)held;
	cursor->held_until_ns = 2 * cursor->gap.since_ns - thread->call_ns;
	return 0;
}

/* The gap up to ts, in the states in which threads have been. */
static int tell(struct run *run, u32 gpu, u64 ts)
{
	struct why_cursor *cursor = &run->cursors[gpu];
	u64 until_ns = ts < cursor->gap.until_ns ? ts : cursor->gap.until_ns;

	if (!cursor->has_held && hold(run, cursor))
		return -ENOMEM;
	while (cursor->since_ns < until_ns) {
		struct part part = {.gpu = gpu,
				    .cursor = cursor,
				    .since_ns = cursor->since_ns,
				    .until_ns = until_ns};
		const struct why_thread *thread;

		part.row = why_chain_follow(run->threads, cursor->gap.row, part.since_ns,
					    &part.until_ns);
		thread = &run->threads[part.row];
		const u64 ends_ns[] = {thread->calls_until_ns, thread->waits_until_ns,
				       cursor->gap.is_last ? thread->seen_ns : 0};

		for (size_t i = 0; i < ARRAY_SIZE(ends_ns); i++)
			if (ends_ns[i] > part.since_ns && ends_ns[i] < part.until_ns)
				part.until_ns = ends_ns[i];
		if (add_part(run, &part))
			return -ENOMEM;
		cursor->since_ns = part.until_ns;
	}
	return 0;
}

/* The rest of the gap behind what its thread did before the launch. */
static int tell_launch(struct run *run, u32 gpu)
{
	const struct why_cursor *cursor = &run->cursors[gpu];
	const struct why_gap *gap = &cursor->gap;
	struct part part = {.gpu = gpu,
			    .cursor = cursor,
			    .row = gap->row,
			    .since_ns = gap->until_ns,
			    .until_ns = gap->launched_ns};

	if (part.until_ns > part.since_ns && add(run, &part, WHY_LAUNCH, gap->name))
		return -ENOMEM;
	part.since_ns = part.until_ns;
	part.until_ns = gap->begin_ns;
	return part.until_ns > part.since_ns ? add(run, &part, WHY_BEGIN, gap->name) : 0;
}

static int no_memory(struct err *err)
{
	return err_errno(err, -ENOMEM, "can't tell why GPUs are idle");
}

/* Ends gaps that are over: the last one when its thread is seen behind it, since others may be before that. */
static int advance(struct run *run, u64 ts, struct err *err)
{
	for (u32 gpu = 0; gpu < run->tally->why->gpu_count; gpu++) {
		struct why_cursor *cursor = &run->cursors[gpu];

		while (!cursor->is_over && cursor->gap.until_ns <= ts &&
		       (!cursor->gap.is_last || ts == ~0ULL ||
			run->threads[cursor->gap.row].seen_ns >= cursor->gap.until_ns)) {
			int result;

			if (tell(run, gpu, ts) || tell_launch(run, gpu))
				return no_memory(err);
			result = why_cursor_next(cursor, err);
			if (result < 0)
				return result;
		}
	}
	return 0;
}

static int tell_of_row(struct run *run, size_t row, u64 ts)
{
	for (u32 gpu = 0; gpu < run->tally->why->gpu_count; gpu++) {
		struct why_cursor *cursor = &run->cursors[gpu];

		if (!cursor->is_over && cursor->since_ns < ts &&
		    why_chain_has(run->threads, cursor->gap.row, cursor->since_ns, row) &&
		    tell(run, gpu, ts))
			return -ENOMEM;
	}
	return 0;
}

static int enter_call(struct run *run, struct why_thread *thread, const struct view_event *event)
{
	s64 name;

	if (thread->calls++)
		return 0;
	name = why_tally_name(run->tally, event->name);
	if (name < 0)
		return -ENOMEM;
	/* Nothing of number 0, which is "". */
	if (thread->call != (u32)name) {
		thread->call = (u32)name;
		thread->call_syncs = strstr(event->name, "Synchronize");
		thread->call_launches = strstr(event->name, "Launch");
	}
	thread->call_ns = event->ts;
	thread->call_stack = event->stack.stack;
	/* Where it stands for others too these have none: one call would be several. */
	thread->made_by = event->stack.launches == 1 ? event->stack.stack : 0;
	return 0;
}

/* Who waits for the GIL looks up every few milliseconds, woken by a timer: whoever got it last still has it. */
static size_t gil_owner(const struct run *run, const struct view_event *event)
{
	const u64 *owner = map_find(&run->gil_owners, event->record->pid, 0);
	const struct why_thread *thread = owner ? &run->threads[*owner] : NULL;

	return !owner || *owner == event->row_index ||
			       (thread->waits && thread->wait_for == WHY_WAIT_GIL)
		       ? WHY_NO_ROW
		       : *owner;
}

static size_t row_of(const struct run *run, u32 pid, u32 tid)
{
	const u64 *row = map_find(&run->rows, pid, tid);

	return row ? *row : WHY_NO_ROW;
}

/* Who woke it, or will have to: where nobody did, who had the lock. */
static size_t waker_of(const struct run *run, const struct view_event *event)
{
	const struct record_off_cpu *wait = (const void *)event->record;

	if (wait->woken_by == VALUE_woken_by_thread)
		return row_of(run, wait->waker_pid, wait->waker_tid);
	/* What else a thread waits for within such a call is not the lock. */
	if (!wait->holder_tid || wait->reason != VALUE_off_cpu_reason_sleeping)
		return WHY_NO_ROW;
	return wait->holder_tid == wait->header.tid
		       ? WHY_NO_ROW
		       : row_of(run, wait->header.pid, wait->holder_tid);
}

static int enter_wait(struct run *run, struct why_thread *thread, const struct view_event *event)
{
	s64 name = why_tally_name(run->tally, event->name);
	u64 runnable_ns;

	if (name < 0)
		return -ENOMEM;
	thread->waits++;
	if (thread->calls && !thread->call_stack)
		thread->call_stack = event->record->stack;
	thread->wait = *(const struct record_off_cpu *)event->record;
	thread->waker = waker_of(run, event);
	thread->wait_name = (u32)name;
	if (why_waits_find(&run->waits, run->view, event, &thread->wait_for))
		return -ENOMEM;
	if (thread->wait_for == WHY_WAIT_GIL && thread->wait.woken_by != VALUE_woken_by_thread)
		thread->waker = gil_owner(run, event);
	if (thread->waker == WHY_NO_ROW &&
	    why_waits_served(&run->waits, run->view, event, &thread->wait_for) < 0)
		return -ENOMEM;
	runnable_ns = thread->wait.runnable_ns == ~0ULL ? 0 : thread->wait.runnable_ns;
	thread->ready_ns = event->end - (runnable_ns < event->dur ? runnable_ns : event->dur);
	return 0;
}

static int leave(struct run *run, struct why_thread *thread, const struct view_event *event)
{
	bool is_call = event->kind->number == KIND_api;

	*(is_call ? &thread->calls : &thread->waits) -= 1;
	if (!is_call && thread->wait_for == WHY_WAIT_GIL &&
	    thread->wait.woken_by == VALUE_woken_by_thread)
		return map_set(&run->gil_owners, event->record->pid, 0, event->row_index);
	return 0;
}

static int change(struct run *run, const struct view_event *event, u64 ts, bool begins,
		  struct err *err)
{
	struct why_thread *thread = &run->threads[event->row_index];
	u16 kind = event->kind->number;
	int result;

	if (kind != KIND_api && kind != KIND_off_cpu)
		return 0;
	thread->seen_ns = ts;
	result = advance(run, ts, err);
	if (result < 0)
		return result;
	result = tell_of_row(run, event->row_index, ts);
	thread->is_seen = true;
	if (result == 0 && !begins)
		result = leave(run, thread, event);
	else if (result == 0)
		result = kind == KIND_api ? enter_call(run, thread, event)
					  : enter_wait(run, thread, event);
	return result < 0 ? no_memory(err) : 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	return change(data, event, event->ts, true, err);
}

static int run_end(void *data, const struct view_event *event, struct err *err)
{
	return change(data, event, event->end, false, err);
}

/* A sample of a thread in a gap says what code runs in such times. */
static int add_sample(struct run *run, const struct view_event *event, struct err *err)
{
	struct why_thread *thread = &run->threads[event->row_index];
	int result;

	thread->seen_ns = event->ts;
	result = advance(run, event->ts, err);
	if (result < 0)
		return result;
	if (!thread->is_seen && tell_of_row(run, event->row_index, event->ts))
		return no_memory(err);
	thread->is_seen = true;
	if (thread->calls && !thread->call_stack)
		thread->call_stack = event->record->stack;
	if (thread->calls || thread->waits)
		return 0;
	/* Where that is not known any more the time is none of code's. */
	if (!run->has_waits || event->ts >= thread->waits_until_ns ||
	    event->ts >= thread->calls_until_ns)
		return 0;
	for (u32 gpu = 0; gpu < run->tally->why->gpu_count; gpu++) {
		struct why_cursor *cursor = &run->cursors[gpu];
		struct part part = {.gpu = gpu, .cursor = cursor, .row = event->row_index};
		struct why_cause cause;
		u64 until_ns = ~0ULL;

		if (cursor->is_over || event->ts < cursor->gap.since_ns ||
		    event->ts >= cursor->gap.until_ns ||
		    why_chain_follow(run->threads, cursor->gap.row, event->ts, &until_ns) !=
			    event->row_index)
			continue;
		if (!cursor->has_held && hold(run, cursor))
			return no_memory(err);
		cause = cause_of(run, &part, WHY_CODE);
		cause.group = why_tally_cut(run->tally, event->ts, &until_ns);
		if (why_code_sample(&run->code, &cause, cursor->gap.number, event->ts,
				    event->record->pid, event->record->stack))
			return no_memory(err);
	}
	return 0;
}

static int run_point(void *data, const struct view_event *event, struct err *err)
{
	return event->kind->number == KIND_sample ? add_sample(data, event, err) : 0;
}

/* ---- the run ---- */

static int begin(struct run *run, const struct why_gaps *gaps, struct err *err)
{
	const struct view_survey *survey = view_survey(run->view);

	for (size_t gpu = 0; gpu < run->tally->why->gpu_count; gpu++) {
		int result = why_cursor_begin(&run->cursors[gpu], gaps, gpu, err);

		if (result < 0)
			return result;
		run->asks |= !run->cursors[gpu].is_over;
	}
	for (size_t i = 0; i < survey->row_count; i++) {
		const struct view_row *row = &survey->rows[i];

		run->threads[i].calls_until_ns =
			view_recorded_until(run->view, VALUE_recorded_sort_cuda_calls, row->pid);
		run->threads[i].waits_until_ns =
			view_recorded_until(run->view, VALUE_recorded_sort_waits, row->pid);
		if (row->type == ROW_THREAD && map_set(&run->rows, row->pid, row->tid, i))
			return no_memory(err);
	}
	return 0;
}

const struct view_kept_kind why_threads_kinds[] = {
	{KIND_api, false},
	{KIND_off_cpu, true},
	{KIND_sample, false},
	{0, false},
};

static int tell_all(struct run *run, struct view_kept *kept, const struct why_gaps *gaps,
		    struct err *err)
{
	static const struct view_sink sink = {.span = run_span,
					      .end = run_end,
					      .point = run_point,
					      .end_kinds = {KIND_api, KIND_off_cpu}};
	const struct view_part part = {&sink, run};
	int result;

	if (!run->cursors || !run->threads || why_code_init(&run->code, run->view, run->tally))
		return no_memory(err);
	result = begin(run, gaps, err);
	if (result == 0 && run->asks)
		result = view_kept_run(kept, &part, 1, err);
	if (result == 0)
		result = advance(run, ~0ULL, err);
	return result < 0 ? result : why_code_finish(&run->code, err);
}

static void run_free(struct run *run)
{
	why_describe_free(&run->describe);
	why_code_free(&run->code);
	why_waits_free(&run->waits);
	map_free(&run->rows);
	map_free(&run->gil_owners);
	for (size_t gpu = 0; run->cursors && gpu < run->tally->why->gpu_count; gpu++)
		why_cursor_free(&run->cursors[gpu]);
	free(run->cursors);
	free(run->threads);
	free(run);
}

int why_threads_tell(struct view *view, struct view_kept *kept, struct why_tally *tally,
		     const struct why_gaps *gaps, struct err *err)
{
	struct run *run = calloc(1, sizeof(*run));
	int result;

	if (!run)
		return no_memory(err);
	*run = (struct run){
		.view = view,
		.tally = tally,
		.cursors = calloc(tally->why->gpu_count + 1, sizeof(*run->cursors)),
		.threads = calloc(view_survey(view)->row_count + 1, sizeof(*run->threads)),
		.code = {.store = SPOOL_STORE_INIT},
		.has_waits = view_kind_count(view, KIND_off_cpu),
	};
	run->describe.code = &run->code;
	result = tell_all(run, kept, gaps, err);
	run_free(run);
	return result;
}
