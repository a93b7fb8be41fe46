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
#include "why/why_states.h"

struct run {
	const struct view *view;
	struct why_tally *tally;
	struct why_cursor *cursors; /* [gpu] */
	struct why_states states;
	struct why_code code;
	struct why_describe describe;
	bool has_waits;
	bool asks; /* there are gaps that a thread is to be asked for */
};

/* ---- what a thread does, as a cause ---- */

struct part {
	u32 gpu;
	const struct why_cursor *cursor;
	size_t row; /* of the thread that acts */
	u64 since_ns, until_ns;
	u64 effect_ns; /* when it woke who waits for it, or launched */
};

/* What a thread waits for itself. */
static enum why_wait own_wait(const struct run *run, const struct part *part)
{
	const struct why_state *thread = &run->states.threads[part->row];

	/* Behind the last work its clock has led to nothing. */
	return !part->cursor->gap.is_last && why_state_is_timer(thread, part->effect_ns)
		       ? WHY_WAIT_TIMER
		       : thread->wait_for;
}

/* Does it wait for somebody who has what it needs, or does not take what it gives? Then that is what is wrong, whatever he waits for. */
static bool is_kept_out(enum why_wait wait)
{
	return wait == WHY_WAIT_LOCK || wait == WHY_WAIT_GIL || wait == WHY_WAIT_READER;
}

/* Is it what is wrong, also of one for which another one waits? */
static bool is_the_end(enum why_wait wait)
{
	return wait == WHY_WAIT_TIMER || wait == WHY_WAIT_SLEEP || wait == WHY_WAIT_NETWORK ||
	       wait == WHY_WAIT_GOROUTINE;
}

static u32 process_of(const struct run *run, size_t row)
{
	return view_survey(run->view)->rows[row].pid;
}

/* Does a process with work of GPUs wait for another one? */
static bool is_peer(const struct run *run, size_t waiter, size_t row)
{
	const struct why_state *threads = run->states.threads;

	return threads[waiter].has_gpu && threads[row].has_gpu &&
	       process_of(run, waiter) != process_of(run, row);
}

/* For what the thread of the gap waits; where that is what another one does, and this one waits for requests, for the network or by its clock, or has no
 * goroutine to run, for these. */
static enum why_wait wait_of(const struct run *run, const struct part *part, enum why_sort sort)
{
	const struct why_gap *gap = &part->cursor->gap;
	enum why_wait own = sort == WHY_WAIT ? own_wait(run, part) : WHY_WAIT_NONE;
	enum why_wait waiter = run->states.threads[gap->row].wait_for;

	if (own == WHY_WAIT_REQUESTS || (is_the_end(own) && !is_kept_out(waiter)))
		return own;
	if (part->row == gap->row)
		return sort == WHY_WAIT ? waiter : WHY_WAIT_NONE;
	/* It had none to run because of what that one did. */
	if (waiter == WHY_WAIT_GOROUTINE)
		waiter = WHY_WAIT_OTHER;
	return waiter == WHY_WAIT_OTHER && is_peer(run, gap->row, part->row) ? WHY_WAIT_PEER
									     : waiter;
}

/* The code in which the gap's thread waits for the one that acts, or for the GIL; -ENOMEM. */
static s64 waits_at(struct run *run, const struct part *part)
{
	const struct why_state *thread = &run->states.threads[part->cursor->gap.row];
	s64 at = run->code.unknown;

	if (thread->waits &&
	    (part->row != part->cursor->gap.row || thread->wait_for == WHY_WAIT_GIL))
		at = why_code_call_of(&run->code, thread->wait.header.pid,
				      thread->wait.header.stack);
	if (at < 0)
		return at;
	return at == run->code.unknown ? 0 : at + 1;
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

static int add_at(struct run *run, const struct part *part, const struct why_cause *cause)
{
	s64 at = waits_at(run, part);

	return at < 0 ? -ENOMEM
		      : why_tally_add_at(run->tally, cause, (u32)at,
					 part->until_ns - part->since_ns);
}

static int add(struct run *run, const struct part *part, enum why_sort sort, s64 what)
{
	const struct why_cause cause = cause_of(run, part, sort);

	if (what < 0 || add_at(run, part, &cause))
		return -ENOMEM;
	return why_tally_add(run->tally, &cause, (u32)what, part->cursor->gap.number,
			     part->since_ns, part->until_ns);
}

/* The same of what a stack tells of. */
static int add_of_stack(struct run *run, const struct part *part, enum why_sort sort, s64 what,
			u32 pid, u32 stack)
{
	if (what < 0 || why_callers_add(&run->tally->why->callers, (u32)what, pid, stack,
					part->until_ns - part->since_ns))
		return -ENOMEM;
	return add(run, part, sort, what);
}

/* It waited up to ready_ns, then had no CPU. */
static int add_wait(struct run *run, const struct part *part, const struct why_state *thread)
{
	const struct record_off_cpu *wait = &thread->wait;
	enum why_describe_side side =
		own_wait(run, part) == WHY_WAIT_TIMER ? WHY_SIDE_TIMER : WHY_SIDE_WAITS;
	enum why_sort sort = wait->reason == VALUE_off_cpu_reason_stopped ? WHY_STOPPED : WHY_WAIT;

	if (wait->reason == VALUE_off_cpu_reason_preempted && wait->throttled)
		return add_of_stack(run, part, WHY_THROTTLED,
				    why_describe_throttling(&run->describe, wait), wait->header.pid,
				    wait->header.stack);
	if (wait->reason == VALUE_off_cpu_reason_preempted)
		return add(run, part, WHY_PREEMPTED, why_describe_preemption(&run->describe, wait));
	if (part->since_ns >= thread->ready_ns) {
		side = WHY_SIDE_WAITED;
		sort = WHY_WOKEN;
	}
	return add_of_stack(run, part, sort,
			    why_describe_wait(&run->describe, wait, thread->wait_name, side),
			    wait->header.pid, wait->header.stack);
}

static int add_code(struct run *run, const struct part *part, const struct why_state *thread)
{
	s64 what = part->row == part->cursor->gap.row
			   ? why_describe_launch(&run->describe, &part->cursor->gap)
			   : run->code.unknown;
	bool or_waits = !run->has_waits || part->since_ns >= thread->waits_until_ns;
	const struct why_cause cause =
		cause_of(run, part, or_waits ? WHY_CODE_OR_WAIT : WHY_UNSAMPLED);

	if (what < 0 || add_at(run, part, &cause) ||
	    why_callers_add(&run->tally->why->callers, (u32)what,
			    process_of(run, part->cursor->gap.row), part->cursor->gap.stack,
			    part->until_ns - part->since_ns))
		return -ENOMEM;
	return why_code_add(&run->code, &cause, (u32)what, part->cursor->gap.number, part->since_ns,
			    part->until_ns);
}

static s64 describe_call(struct run *run, size_t row, u32 stack)
{
	return why_describe_call(&run->describe, run->states.threads[row].call,
				 process_of(run, row), stack);
}

/* Nothing was recorded yet of the gap's thread, which may begin only later, or nothing more is, and it may have ended; else WHY_SORTS. */
static enum why_sort edge_of(const struct run *run, const struct part *part)
{
	const struct why_gap *gap = &part->cursor->gap;
	const struct why_state *thread = &run->states.threads[gap->row];

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

/* What the gap's thread waits for itself, where the same is not known of later gaps. */
static int note_wait(struct run *run, const struct part *part)
{
	const struct why_state *thread = &run->states.threads[part->cursor->gap.row];
	s64 what;

	if (thread->waits_until_ns >= view_survey(run->view)->window_end_ns || !thread->waits ||
	    thread->calls || why_state_is_ready(thread, part->since_ns))
		return 0;
	what = why_describe_wait(&run->describe, &thread->wait, thread->wait_name, WHY_SIDE_WAITS);
	return what < 0 ? -ENOMEM
			: why_code_waited(&run->code, part->cursor->gap.row, (u32)what,
					  part->until_ns - part->since_ns);
}

/* In one state, and nothing ended in it. */
static int add_part(struct run *run, const struct part *part)
{
	const struct why_state *thread = &run->states.threads[part->row];
	enum why_sort edge = edge_of(run, part);

	if (note_wait(run, part))
		return -ENOMEM;
	if (edge != WHY_SORTS)
		return add_without_thread(run, part, edge);
	if (part->since_ns >= thread->calls_until_ns)
		return add(run, part, WHY_NO_CALLS, run->code.unknown);
	if (thread->calls && !why_state_is_ready(thread, part->since_ns))
		return add_of_stack(run, part, thread->call_syncs ? WHY_SYNC : WHY_CALL,
				    describe_call(run, part->row, thread->made_by),
				    process_of(run, part->row), thread->made_by);
	return thread->waits ? add_wait(run, part, thread) : add_code(run, part, thread);
}

/* ---- from one change to the next ---- */

/* It waits for a GPU no more, and would go on if it, or who is to tell it, had a CPU: what it waited for is no reason then. */
static bool is_late(const struct run *run, const struct why_state *thread, u64 ts)
{
	return thread->call_syncs &&
	       (why_state_is_ready(thread, ts) || why_chain_follows(&run->states, thread, ts));
}

/* What its thread was in when the gap began that is to be told of next. */
static int hold(struct run *run, struct why_cursor *cursor)
{
	const struct why_state *thread = &run->states.threads[cursor->gap.row];
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
	return why_callers_add(&run->tally->why->callers, cursor->held,
			       process_of(run, cursor->gap.row), thread->call_stack,
			       cursor->gap.since_ns - thread->call_ns);
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
				    .until_ns = until_ns,
				    .effect_ns = cursor->gap.until_ns};
		const struct why_state *thread;

		part.row = why_chain_follow(&run->states, cursor->gap.row, part.since_ns,
					    &part.until_ns, &part.effect_ns);
		thread = &run->states.threads[part.row];
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
			run->states.threads[cursor->gap.row].seen_ns >= cursor->gap.until_ns)) {
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
		    why_chain_has(&run->states, cursor->gap.row, cursor->since_ns, row) &&
		    tell(run, gpu, ts))
			return -ENOMEM;
	}
	return 0;
}

static int change(struct run *run, const struct view_event *event, u64 ts, bool begins,
		  struct err *err)
{
	struct why_state *thread = &run->states.threads[event->row_index];
	u16 kind = event->kind->number;
	int result;

	if (kind != KIND_api && kind != KIND_off_cpu)
		return 0;
	thread->seen_ns = ts;
	result = advance(run, ts, err);
	if (result < 0)
		return result;
	if (tell_of_row(run, event->row_index, ts))
		return no_memory(err);
	thread->is_seen = true;
	if (begins)
		return why_states_enter(&run->states, event, err);
	return why_states_leave(&run->states, event) ? no_memory(err) : 0;
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
	struct why_state *thread = &run->states.threads[event->row_index];
	int result;

	thread->seen_ns = event->ts;
	result = advance(run, event->ts, err);
	if (result < 0)
		return result;
	if (!thread->is_seen && tell_of_row(run, event->row_index, event->ts))
		return no_memory(err);
	thread->is_seen = true;
	thread->sample_stack = event->record->stack;
	thread->sample_period_ns = ((const struct record_sample *)event->record)->period_ns;
	if (thread->calls && !thread->call_stack)
		thread->call_stack = event->record->stack;
	if (thread->calls || thread->waits)
		return 0;
	/* Where that is not known any more the time is none of code's. */
	if (event->ts >= thread->calls_until_ns)
		return 0;
	for (u32 gpu = 0; gpu < run->tally->why->gpu_count; gpu++) {
		struct why_cursor *cursor = &run->cursors[gpu];
		struct part part = {.gpu = gpu, .cursor = cursor, .row = event->row_index};
		struct why_cause cause;
		u64 until_ns = ~0ULL, effect_ns;

		if (cursor->is_over || event->ts < cursor->gap.since_ns ||
		    event->ts >= cursor->gap.until_ns ||
		    why_chain_follow(&run->states, cursor->gap.row, event->ts, &until_ns,
				     &effect_ns) != event->row_index)
			continue;
		if (!cursor->has_held && hold(run, cursor))
			return no_memory(err);
		cause = cause_of(run, &part,
				 !run->has_waits || event->ts >= thread->waits_until_ns
					 ? WHY_CODE_OR_WAIT
					 : WHY_CODE);
		cause.group = why_tally_cut(run->tally, event->ts, &until_ns);
		if (why_code_sample(&run->code, &cause, cursor->gap.number, event->ts,
				    thread->sample_period_ns, event->record->pid,
				    event->record->stack))
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
	for (size_t gpu = 0; gpu < run->tally->why->gpu_count; gpu++) {
		int result = why_cursor_begin(&run->cursors[gpu], gaps, gpu, err);

		if (result < 0)
			return result;
		run->asks |= !run->cursors[gpu].is_over;
	}
	return 0;
}

const struct view_kept_kind why_threads_kinds[] = {
	{KIND_api, false},
	{KIND_off_cpu, true},
	{KIND_sample, true},
	{0, false},
};

static int tell_all(struct run *run, struct view_kept *kept, struct why_timeouts *timeouts,
		    const struct why_gaps *gaps, struct err *err)
{
	static const struct view_sink sink = {.span = run_span,
					      .end = run_end,
					      .point = run_point,
					      .end_kinds = {KIND_api, KIND_off_cpu}};
	const struct view_part part = {&sink, run};
	int result;

	if (!run->cursors || why_states_init(&run->states, run->view, run->tally, timeouts) ||
	    why_code_init(&run->code, run->view, run->tally))
		return no_memory(err);
	result = begin(run, gaps, err);
	if (result == 0 && run->asks)
		result = view_kept_run(kept, &part, 1, err);
	if (result == 0)
		result = advance(run, ~0ULL, err);
	if (result == 0)
		result = why_code_finish(&run->code, err);
	if (result == 0 &&
	    (why_tally_settle_at(run->tally) || why_callers_settle(&run->tally->why->callers)))
		result = no_memory(err);
	return result;
}

static void run_free(struct run *run)
{
	why_describe_free(&run->describe);
	why_code_free(&run->code);
	why_states_free(&run->states);
	for (size_t gpu = 0; run->cursors && gpu < run->tally->why->gpu_count; gpu++)
		why_cursor_free(&run->cursors[gpu]);
	free(run->cursors);
	free(run);
}

int why_threads_tell(struct view *view, struct view_kept *kept, struct why_timeouts *timeouts,
		     struct why_tally *tally, const struct why_gaps *gaps, struct err *err)
{
	struct run *run = calloc(1, sizeof(*run));
	int result;

	if (!run)
		return no_memory(err);
	*run = (struct run){
		.view = view,
		.tally = tally,
		.cursors = calloc(tally->why->gpu_count + 1, sizeof(*run->cursors)),
		.code = {.store = SPOOL_STORE_INIT},
		.has_waits = view_kind_count(view, KIND_off_cpu),
	};
	run->describe.code = &run->code;
	result = tell_all(run, kept, timeouts, gaps, err);
	run_free(run);
	return result;
}
