/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of threads went, of a capture without work of GPUs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "explain/explain_parts.h"
#include "why/why_object.h"

struct thread {
	u64 run_ns, waiting_ns;
	u64 ready_ns; /* as the scheduler counted it, whether its waits were recorded or not */
	u64 ready_told_ns; /* of that, what waits say, also those that were too short to be recorded one by one */
	bool throttled;
	u64 told_ns[EXPLAIN_FINDINGS]; /* of its time, what is of that finding */
	u64 other_ns;		       /* of run_ns what is told of elsewhere */
	u64 sampled_ns;
};

struct run {
	struct explain *explain;
	struct why_waits waits;
	struct why_doings doings;
	struct thread *threads;	       /* [row] */
	struct explain_places *codes;  /* [row] where it ran */
	struct explain_places *places; /* [row] for what it waited */
};

/* "futex in next_batch (train.py:12)", of what runs "next_batch train.py:9": the function */
static void append_where(const struct explain *explain, const struct view_event *event,
			 const char *what, struct text *text)
{
	struct view_frame frame;
	bool known = view_own_frame(explain->view, event->record->pid, event->record->stack, NULL,
				    &frame);

	text_append(text, what);
	if (known && *what)
		text_append(text, " in ");
	if (known && *what)
		view_frame_append_call(&frame, text);
	else if (known)
		view_frame_append_name(&frame, text);
	else if (!*what)
		text_append(text, VIEW_NO_STACK);
}

/* A place in the code of an event's stack, of which it is to be known who called it. */
static int add_place(struct run *run, const struct view_event *event, const char *place, u64 ns,
		     struct explain_places *places)
{
	struct why *why = &run->explain->why;
	s64 what = string_table_add(&why->whats, place, strlen(place));

	if (what < 0 ||
	    why_callers_add(&why->callers, (u32)what, event->record->pid, event->record->stack, ns))
		return -ENOMEM;
	return explain_places_add_what(places, place, (u32)what + 1, ns, 1);
}

static int add_to(struct run *run, enum explain_finding finding, const struct view_event *event,
		  const char *place, u64 ns)
{
	struct explain_evidence *evidence = &run->explain->evidence[finding];
	/* Else it is who has the CPU. */
	bool is_code = finding != EXPLAIN_NO_CPU && finding != EXPLAIN_THROTTLED;

	if (!ns)
		return 0;
	evidence->idle_ns += ns;
	evidence->seen_ns += ns;
	evidence->count++;
	run->threads[event->row_index].told_ns[finding] += ns;
	if (is_code ? add_place(run, event, place, ns, &evidence->places)
		    : explain_places_add(&evidence->places, place, ns, 1))
		return -ENOMEM;
	return explain_add_thread(run->explain, event->row_index, ns, 1, &evidence->threads);
}

/* ---- waits ---- */

static int add_preemption(struct run *run, const struct view_event *event)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	_cleanup_text_ struct text text = {0};
	const char *name = view_text(run->explain->view, wait->instead);

	if (!name && wait->instead_tid)
		name = view_task_name(run->explain->view, wait->instead_pid, wait->instead_tid);
	text_appendf(&text, "preempted%s%s", name ? " by " : "", name ?: "");
	if (text.failed)
		return -ENOMEM;
	run->threads[event->row_index].ready_told_ns += event->dur;
	run->threads[event->row_index].throttled |= wait->throttled;
	return add_to(run, wait->throttled ? EXPLAIN_THROTTLED : EXPLAIN_NO_CPU, event,
		      text_string(&text), event->dur);
}

static const char *who_woke(const struct run *run, const struct record_off_cpu *wait)
{
	const char *name = view_text(run->explain->view, wait->waker);

	if (wait->woken_by != VALUE_woken_by_thread)
		return NULL;
	return name ?: view_task_name(run->explain->view, wait->waker_pid, wait->waker_tid);
}

/* "recvfrom for tcp 10.0.0.1:80 (listening)" */
static void append_what(const struct explain *explain, const struct view_event *event,
			struct text *text)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	const char *object = view_text(explain->view, wait->waited);

	text_append(text, event->name);
	if (!object)
		return;
	text_append(text, " for ");
	why_object_append(object, text);
}

static int add_wait(struct run *run, const struct view_event *event)
{
	static const enum explain_finding findings[WHY_WAITS] = {
		[WHY_WAIT_LOCK] = EXPLAIN_LOCK,
		[WHY_WAIT_GIL] = EXPLAIN_GIL,
		[WHY_WAIT_PAGE] = EXPLAIN_FAULTS,
	};
	const struct record_off_cpu *wait = (const void *)event->record;
	u64 ready_ns = wait->runnable_ns == ~0ULL ? 0 : wait->runnable_ns;
	_cleanup_text_ struct text text = {0}, what = {0};
	const char *waker = who_woke(run, wait);
	enum why_wait sort;
	u64 ns;

	if (wait->reason == VALUE_off_cpu_reason_preempted)
		return add_preemption(run, event);
	ready_ns = ready_ns < event->dur ? ready_ns : event->dur;
	ns = event->dur - ready_ns;
	run->threads[event->row_index].ready_told_ns += ready_ns;
	append_what(run->explain, event, &what);
	if (why_waits_find(&run->waits, run->explain->view, event, &sort))
		return -ENOMEM;
	if (sort == WHY_WAIT_GOROUTINE)
		text_append(&text, why_wait_words(sort));
	else
		append_where(run->explain, event, text_string(&what), &text);
	if (waker)
		text_appendf(&text, ", woken by %s", waker);
	if (text.failed || what.failed ||
	    add_to(run, EXPLAIN_NO_CPU, event, "woken, and waited for a CPU", ready_ns))
		return -ENOMEM;
	if (wait->reason == VALUE_off_cpu_reason_stopped)
		return add_to(run, EXPLAIN_STOPPED, event, text_string(&text), ns);
	if (findings[sort])
		return add_to(run, findings[sort], event, text_string(&text), ns);
	run->threads[event->row_index].waiting_ns += ns;
	return add_place(run, event, text_string(&text), ns, &run->places[event->row_index]);
}

/* ---- running ---- */

static int add_sample(struct run *run, const struct view_event *event)
{
	_cleanup_text_ struct text text = {0};
	static const enum explain_finding findings[WHY_DOINGS] = {
		[WHY_DOING_FAULTS] = EXPLAIN_FAULTS,
		[WHY_DOING_RETURNS] = EXPLAIN_FAULTS,
		[WHY_DOING_GARBAGE] = EXPLAIN_GARBAGE,
	};
	enum why_doing doing;

	run->threads[event->row_index].sampled_ns += event->weight_ns;
	append_where(run->explain, event, "", &text);
	if (text.failed || why_doings_find(&run->doings, run->explain->view, event->record->pid,
					   event->record->stack, &doing))
		return -ENOMEM;
	if (doing) {
		run->threads[event->row_index].other_ns += event->weight_ns;
		return add_to(run, findings[doing], event, text_string(&text), event->weight_ns);
	}
	return add_place(run, event, text_string(&text), event->weight_ns,
			 &run->codes[event->row_index]);
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	const struct run *run = data;

	if (event->kind->number == KIND_api)
		run->explain->launched |= strstr(event->name, "Launch") != NULL;
	if (event->kind->number == KIND_off_cpu && add_wait(data, event))
		return explain_no_memory(err);
	return 0;
}

static int run_point(void *data, const struct view_event *event, struct err *err)
{
	if (event->kind->number == KIND_sample && add_sample(data, event))
		return explain_no_memory(err);
	return 0;
}

static int run_counter(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	const struct record_process_memory *memory = (const void *)event->record;

	(void)err;
	if (event->kind->number == KIND_process_memory && memory->resident_bytes != ~0ULL &&
	    memory->resident_bytes > run->explain->resident_bytes)
		run->explain->resident_bytes = memory->resident_bytes;
	return 0;
}

static u64 known_or_0(u64 ns)
{
	return ns == ~0ULL ? 0 : ns;
}

static int run_total(void *data, const struct view_event *event, struct err *err)
{
	const struct record_thread_time *time = (const void *)event->record;
	const struct record_short_wait *waits = (const void *)event->record;
	struct thread *thread = &((struct run *)data)->threads[event->row_index];

	(void)err;
	if (event->kind->number == KIND_thread_time) {
		thread->run_ns += known_or_0(time->run_ns);
		thread->ready_ns += known_or_0(time->ready_ns);
	} else if (event->kind->number == KIND_short_wait) {
		thread->ready_told_ns += known_or_0(waits->ready_ns);
	}
	return 0;
}

/* ---- the thread that ran most ---- */

/* Of threads that ran for less than this part of the time none is what the program does. */
#define IDLE_PART 200

static u64 ran_ns(const struct thread *thread)
{
	return thread->run_ns > thread->sampled_ns ? thread->run_ns : thread->sampled_ns;
}

/* Where all are idle the first thread of a process stands for what it waits for: pools wait behind that. Of processes with an agent, where there are such: another one
 * may have started them. */
static bool stands_for_process(const struct run *run, size_t row)
{
	const struct view_survey *survey = run->explain->survey;
	const struct view_row *of = &survey->rows[row];
	u64 window_ns = survey->window_end_ns - survey->window_start_ns;

	return of->type == ROW_THREAD && of->tid == of->pid &&
	       run->threads[row].waiting_ns >= window_ns / 2 &&
	       (!explain_gpu_is_recorded(run->explain) ||
		explain_process_is_recorded(run->explain, of->pid));
}

static size_t busiest(const struct run *run)
{
	const struct view_survey *survey = run->explain->survey;
	u64 window_ns = survey->window_end_ns - survey->window_start_ns;
	size_t most = 0;

	for (size_t i = 1; i < survey->row_count; i++)
		if (ran_ns(&run->threads[i]) > ran_ns(&run->threads[most]))
			most = i;
	for (size_t i = 0; i < survey->row_count; i++)
		if (ran_ns(&run->threads[most]) < window_ns / IDLE_PART &&
		    stands_for_process(run, i))
			return i;
	return most;
}

static int tell(struct run *run, size_t row, enum explain_finding finding, u64 ns,
		struct explain_places *places)
{
	struct explain_evidence *evidence = &run->explain->evidence[finding];

	evidence->idle_ns = evidence->seen_ns = ns;
	run->threads[row].told_ns[finding] = ns;
	evidence->places = *places;
	*places = (struct explain_places){0};
	return explain_add_thread(run->explain, row, ns, 1, &evidence->threads);
}

static int tell_busiest(struct run *run)
{
	size_t row = busiest(run);
	struct thread *thread = &run->threads[row];

	if (!run->explain->survey->row_count)
		return 0;
	if (thread->other_ns > thread->run_ns)
		thread->other_ns = thread->run_ns;
	return tell(run, row, EXPLAIN_BUSY_CPU, thread->run_ns - thread->other_ns,
		    &run->codes[row]) ||
			       tell(run, row, EXPLAIN_WAITING, run->threads[row].waiting_ns,
				    &run->places[row])
		       ? -ENOMEM
		       : 0;
}

/* Where waits were no longer recorded from a moment on the scheduler's sums still tell who had no CPU. */
static int add_rest(struct run *run, size_t row)
{
	static const char *const places[] = {
		"after waits were no longer recorded",
		"after waits were no longer recorded, throttled by its cgroup or not"};
	const struct view_row *of = &run->explain->survey->rows[row];
	struct explain_evidence *evidence = &run->explain->evidence[EXPLAIN_NO_CPU];
	struct thread *thread = &run->threads[row];
	u64 ns;

	if (thread->ready_ns <= thread->ready_told_ns ||
	    view_recorded_until(run->explain->view, VALUE_recorded_sort_waits, of->pid) >=
		    run->explain->survey->window_end_ns)
		return 0;
	ns = thread->ready_ns - thread->ready_told_ns;
	evidence->idle_ns += ns;
	evidence->seen_ns += ns;
	thread->told_ns[EXPLAIN_NO_CPU] += ns;
	return explain_places_add(&evidence->places, places[thread->throttled], ns, 0) ||
			       explain_add_thread(run->explain, row, ns, 0, &evidence->threads)
		       ? -ENOMEM
		       : 0;
}

static int tell_rest(struct run *run)
{
	int result = 0;

	for (size_t i = 0; i < run->explain->survey->row_count && result == 0; i++)
		result = add_rest(run, i);
	return result;
}

/* Who has less of a finding's time than this part of what the first one has is not told of: with many alike each has little. */
#define THREAD_LEAST_PART 20

static void count_threads(struct run *run, enum explain_finding finding)
{
	size_t count = run->explain->survey->row_count;
	u64 most_ns = 0;

	for (size_t i = 0; i < count; i++)
		if (run->threads[i].told_ns[finding] > most_ns)
			most_ns = run->threads[i].told_ns[finding];
	for (size_t i = 0; most_ns && i < count; i++)
		if (run->threads[i].told_ns[finding] * THREAD_LEAST_PART >= most_ns)
			run->explain->evidence[finding].thread_count++;
}

static int begin(struct explain *explain, void *state)
{
	size_t rows = explain->survey->row_count;
	struct run *run = state;

	run->explain = explain;
	run->threads = calloc(rows + 1, sizeof(*run->threads));
	run->codes = calloc(rows + 1, sizeof(*run->codes));
	run->places = calloc(rows + 1, sizeof(*run->places));
	return run->threads && run->codes && run->places ? 0 : -ENOMEM;
}

static int end(void *state)
{
	struct run *run = state;

	if (tell_rest(run) || tell_busiest(run))
		return -ENOMEM;
	for (unsigned i = 0; i < EXPLAIN_FINDINGS; i++)
		count_threads(run, i);
	return why_callers_settle(&run->explain->why.callers);
}

static void run_free(void *state)
{
	struct run *run = state;

	for (size_t i = 0; i < run->explain->survey->row_count; i++) {
		if (run->codes)
			explain_places_free(&run->codes[i]);
		if (run->places)
			explain_places_free(&run->places[i]);
	}
	free(run->threads);
	free(run->codes);
	free(run->places);
	why_waits_free(&run->waits);
	why_doings_free(&run->doings);
}

static const struct view_sink sink = {.span = run_span,
				      .point = run_point,
				      .counter = run_counter,
				      .total = run_total,
				      .only_recorded = true};

const struct explain_look explain_host = {&sink, sizeof(struct run), begin, end, run_free};
