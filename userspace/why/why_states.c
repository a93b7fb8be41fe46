/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why_states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int enter_call(struct why_states *states, struct why_state *thread,
		      const struct view_event *event)
{
	s64 name;

	if (thread->calls++)
		return 0;
	name = why_tally_name(states->tally, event->name);
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

/* Running threads are sampled at least once in so many of their periods. */
#define SAMPLES_MISSING 10
/* Of those that are not sampled. */
#define SEEN_LATELY_NS 30000000ULL

/* Does its last sample have Python, and is the interpreter itself where it was? */
static void look_at_sample(struct why_state *thread, const struct view *view, u32 pid)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count;

	if (thread->sample_stack == thread->asked_stack)
		return;
	thread->asked_stack = thread->sample_stack;
	count = view_frames(view, pid, thread->sample_stack, &frames, &cut);
	thread->runs_python = count && frames[0].python;
	for (size_t i = 0; i < count; i++)
		thread->is_python |= frames[i].python;
}

/* Is it there still, and runs? */
static bool runs_lately(const struct why_state *thread, u64 ts)
{
	u64 most_ns = thread->sample_period_ns ? SAMPLES_MISSING * thread->sample_period_ns
					       : SEEN_LATELY_NS;

	if (!thread->is_seen)
		return false;
	if (thread->waits && ts < thread->ready_ns)
		return thread->wait_for == WHY_WAIT_PAGE ||
		       thread->wait.reason == VALUE_off_cpu_reason_preempted;
	return thread->waits || ts - thread->seen_ns <= most_ns;
}

static bool waits_for_gpu(const struct why_state *thread)
{
	return thread->calls && thread->call_syncs;
}

/*
 * Who waits for the GIL looks up every few milliseconds, woken by a timer. Whoever got it last has it, if it runs; else the only thread of Python that does. Who waits
 * for a GPU has mostly let go of it, and is not known to have: then only who was found in the interpreter itself is named.
 */
static size_t gil_owner(struct why_states *states, const struct view_event *event)
{
	const struct view_survey *survey = view_survey(states->view);
	const u64 *last = map_find(&states->gil_owners, event->record->pid, 0);
	bool last_syncs = last && waits_for_gpu(&states->threads[*last]);
	u32 pid = event->record->pid;
	size_t only = WHY_NO_ROW;

	if (last && *last != event->row_index && !last_syncs &&
	    runs_lately(&states->threads[*last], event->ts))
		return *last;
	for (size_t i = 0; i < survey->row_count; i++) {
		struct why_state *thread = &states->threads[i];

		if (survey->rows[i].pid != pid || i == event->row_index || waits_for_gpu(thread) ||
		    !runs_lately(thread, event->ts))
			continue;
		look_at_sample(thread, states->view, pid);
		if (!thread->is_python)
			continue;
		if (only != WHY_NO_ROW)
			return WHY_NO_ROW;
		only = i;
	}
	return only != WHY_NO_ROW && last_syncs && !states->threads[only].runs_python ? WHY_NO_ROW
										      : only;
}

static size_t row_of(const struct why_states *states, u32 pid, u32 tid)
{
	const u64 *row = map_find(&states->rows, pid, tid);

	return row ? *row : WHY_NO_ROW;
}

/* Who woke it, or will have to: where nobody did, who had the lock. */
static size_t waker_of(const struct why_states *states, const struct view_event *event)
{
	const struct record_off_cpu *wait = (const void *)event->record;

	if (wait->woken_by == VALUE_woken_by_thread)
		return row_of(states, wait->waker_pid, wait->waker_tid);
	/* What else a thread waits for within such a call is not the lock. */
	if (!wait->holder_tid || wait->reason != VALUE_off_cpu_reason_sleeping)
		return WHY_NO_ROW;
	return wait->holder_tid == wait->header.tid
		       ? WHY_NO_ROW
		       : row_of(states, wait->header.pid, wait->holder_tid);
}

static int enter_wait(struct why_states *states, struct why_state *thread,
		      const struct view_event *event)
{
	s64 name = why_tally_name(states->tally, event->name);
	u64 runnable_ns;

	if (name < 0)
		return -ENOMEM;
	thread->waits++;
	if (thread->calls && !thread->call_stack)
		thread->call_stack = event->record->stack;
	thread->wait = *(const struct record_off_cpu *)event->record;
	thread->waker = waker_of(states, event);
	thread->wait_name = (u32)name;
	if (why_waits_find(&states->waits, states->view, event, &thread->wait_for))
		return -ENOMEM;
	thread->is_python |= thread->wait_for == WHY_WAIT_GIL;
	if (thread->wait_for == WHY_WAIT_GIL && thread->wait.woken_by != VALUE_woken_by_thread)
		thread->waker = gil_owner(states, event);
	if (thread->waker == WHY_NO_ROW &&
	    why_waits_outside(&states->waits, states->view, event, &thread->wait_for))
		return -ENOMEM;
	runnable_ns = thread->wait.runnable_ns == ~0ULL ? 0 : thread->wait.runnable_ns;
	thread->ready_ns = event->end - (runnable_ns < event->dur ? runnable_ns : event->dur);
	return 0;
}

bool why_state_is_ready(const struct why_state *thread, u64 ts)
{
	return thread->waits &&
	       (thread->wait.reason == VALUE_off_cpu_reason_preempted || ts >= thread->ready_ns);
}

/* Of the GIL, or of a lock, who has it is what is waited for. */
bool why_state_is_timer(const struct why_state *thread, u64 effect_ns)
{
	return (thread->wait_for == WHY_WAIT_OTHER || thread->wait_for == WHY_WAIT_DEVICE ||
		thread->wait_for == WHY_WAIT_NETWORK || thread->wait_for == WHY_WAIT_REQUESTS ||
		thread->wait_for == WHY_WAIT_GOROUTINE) &&
	       thread->timed_until_ns >= effect_ns;
}

int why_states_enter(struct why_states *states, const struct view_event *event, struct err *err)
{
	struct why_state *thread = &states->threads[event->row_index];
	bool is_call = event->kind->number == KIND_api;
	int result =
		is_call ? enter_call(states, thread, event) : enter_wait(states, thread, event);

	if (result < 0)
		return err_errno(err, result, "can't tell why GPUs are idle");
	return is_call ? 0
		       : why_timeouts_next(states->timeouts, event, &thread->timed_until_ns, err);
}

int why_states_leave(struct why_states *states, const struct view_event *event)
{
	struct why_state *thread = &states->threads[event->row_index];
	bool is_call = event->kind->number == KIND_api;

	*(is_call ? &thread->calls : &thread->waits) -= 1;
	if (!is_call && thread->wait_for == WHY_WAIT_GIL &&
	    thread->wait.woken_by == VALUE_woken_by_thread)
		return map_set(&states->gil_owners, event->record->pid, 0, event->row_index);
	return 0;
}

/* All threads of processes with work of GPUs. */
static int find_gpu_users(struct why_states *states, const struct view_survey *survey)
{
	struct map users __attribute__((cleanup(map_free))) = {0};

	for (size_t i = 0; i < survey->row_count; i++)
		if (survey->rows[i].type == ROW_STREAM &&
		    map_set(&users, survey->rows[i].pid, 0, 1))
			return -ENOMEM;
	for (size_t i = 0; i < survey->row_count; i++)
		states->threads[i].has_gpu = map_find(&users, survey->rows[i].pid, 0);
	return 0;
}

int why_states_init(struct why_states *states, const struct view *view, struct why_tally *tally,
		    struct why_timeouts *timeouts)
{
	const struct view_survey *survey = view_survey(view);

	states->view = view;
	states->tally = tally;
	states->timeouts = timeouts;
	states->threads = calloc(survey->row_count + 1, sizeof(*states->threads));
	if (!states->threads)
		return -ENOMEM;
	for (size_t i = 0; i < survey->row_count; i++) {
		const struct view_row *row = &survey->rows[i];

		states->threads[i].calls_until_ns =
			view_recorded_until(view, VALUE_recorded_sort_cuda_calls, row->pid);
		states->threads[i].waits_until_ns =
			view_recorded_until(view, VALUE_recorded_sort_waits, row->pid);
		if (row->type == ROW_THREAD && map_set(&states->rows, row->pid, row->tid, i))
			return -ENOMEM;
	}
	return find_gpu_users(states, survey);
}

void why_states_free(struct why_states *states)
{
	why_waits_free(&states->waits);
	map_free(&states->rows);
	map_free(&states->gil_owners);
	free(states->threads);
}
