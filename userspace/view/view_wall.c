/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time of each thread went: it ran, it could have run, or it waited. What samples and waits tell has a stack; what the
 * scheduler counted beside that has none, and makes the sum of a thread the time that it lived in the window.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "view/view_parts.h"

static struct wall_thread *thread_of(struct view_wall *wall, const struct record_header *record)
{
	u64 *place = map_find(&wall->places, record->pid, record->tid);

	return place ? &wall->threads[*place] : NULL;
}

/* NULL: no memory. */
static struct wall_thread *thread_add(struct view_wall *wall, const struct record_header *record)
{
	struct wall_thread *known = thread_of(wall, record);

	if (known)
		return known;
	if (array_reserve(&wall->threads, &wall->capacity, wall->count + 1) ||
	    map_set(&wall->places, record->pid, record->tid, wall->count))
		return NULL;
	wall->threads[wall->count] = (struct wall_thread){0};
	return &wall->threads[wall->count++];
}

static u64 known_or_0(u64 value)
{
	return value == ~0ULL ? 0 : value;
}

static u64 above(u64 value, u64 base)
{
	return value > base ? value - base : 0;
}

/* Of a wait; what is open has not been woken, as far as anybody knows. */
static u64 ready_part(const struct view_event *event)
{
	const struct record_off_cpu *wait = (const struct record_off_cpu *)event->record;
	u64 ready_ns = known_or_0(wait->runnable_ns);

	if (wait->reason == VALUE_off_cpu_reason_preempted)
		return event->dur;
	return ready_ns < event->dur ? ready_ns : event->dur;
}

static enum view_wall_state why_ready(const struct record_off_cpu *wait)
{
	if (wait->reason != VALUE_off_cpu_reason_preempted)
		return VIEW_WALL_WOKEN;
	return wait->throttled ? VIEW_WALL_THROTTLED : VIEW_WALL_PREEMPTED;
}

static void add_time(struct wall_thread *thread, const struct record_thread_time *time)
{
	u64 run_ns = known_or_0(time->run_ns), ready_ns = known_or_0(time->ready_ns);

	thread->counted[VIEW_WALL_RUNNING] += run_ns;
	thread->counted[VIEW_WALL_READY] += ready_ns;
	/* The scheduler's clock and ours differ by some microseconds. */
	thread->counted[VIEW_WALL_WAITING] += above(time->header.dur, run_ns + ready_ns);
	thread->sampled_ns += view_thread_sampled_ns(time);
	thread->life_ns += time->header.dur;
}

int view_wall_survey(struct view_wall *wall, const struct view_event *event)
{
	const struct record_header *record = event->record;
	struct wall_thread *thread;

	if (record->kind != KIND_sample && record->kind != KIND_thread_time &&
	    record->kind != KIND_off_cpu && record->kind != KIND_short_wait)
		return 0;
	thread = thread_add(wall, record);
	if (!thread)
		return -ENOMEM;
	if (record->kind == KIND_thread_time) {
		add_time(thread, (const struct record_thread_time *)record);
	} else if (record->kind == KIND_sample) {
		thread->samples++;
		thread->told[VIEW_WALL_RUNNING] +=
			((const struct record_sample *)record)->period_ns;
	} else if (record->kind == KIND_off_cpu) {
		thread->told[VIEW_WALL_READY] += ready_part(event);
		thread->told[VIEW_WALL_WAITING] += event->dur - ready_part(event);
	} else {
		const struct record_short_wait *waits = (const struct record_short_wait *)record;
		u64 ready_ns = known_or_0(waits->ready_ns);

		thread->told[VIEW_WALL_READY] += ready_ns;
		thread->told[VIEW_WALL_WAITING] += above(known_or_0(waits->time_ns), ready_ns);
	}
	return 0;
}

void view_wall_begin(struct view_wall *wall)
{
	for (size_t i = 0; i < wall->count; i++)
		wall->threads[i].seen = false;
}

/* ---- pieces ---- */

struct pieces {
	struct view_wall_piece *items;
	size_t count;
};

static void add_piece(struct pieces *pieces, enum view_wall_state state, u64 ns, const char *why)
{
	if (ns)
		pieces->items[pieces->count++] = (struct view_wall_piece){state, ns, why};
}

/* By all pieces of it but the one that is too much. */
static u64 told_of_ns(const struct wall_thread *thread)
{
	u64 counted_ns = thread->counted[VIEW_WALL_READY] + thread->counted[VIEW_WALL_WAITING];
	u64 told_ns = thread->told[VIEW_WALL_READY] + thread->told[VIEW_WALL_WAITING];
	u64 running_ns = thread->counted[VIEW_WALL_RUNNING];

	/* Samples stand for their periods where the scheduler had not counted yet. */
	if (thread->samples && !thread->sampled_ns)
		running_ns += thread->told[VIEW_WALL_RUNNING];
	return running_ns + (told_ns > counted_ns ? told_ns : counted_ns);
}

/* What nobody told of, once a thread. */
static void add_rest(struct pieces *pieces, struct wall_thread *thread)
{
	u64 unsampled_ns = above(thread->counted[VIEW_WALL_RUNNING], thread->sampled_ns);
	u64 off_ns = thread->counted[VIEW_WALL_READY] + thread->counted[VIEW_WALL_WAITING];
	u64 told_ns = thread->told[VIEW_WALL_READY] + thread->told[VIEW_WALL_WAITING];

	if (thread->seen)
		return;
	thread->seen = true;
	add_piece(pieces, VIEW_WALL_RUNNING, thread->samples ? 0 : thread->sampled_ns,
		  VIEW_WALL_UNSAMPLED);
	add_piece(pieces, VIEW_WALL_RUNNING, unsampled_ns, VIEW_WALL_UNRECORDED);
	if (!told_ns) {
		add_piece(pieces, VIEW_WALL_READY, thread->counted[VIEW_WALL_READY],
			  VIEW_WALL_UNRECORDED);
		add_piece(pieces, VIEW_WALL_WAITING, thread->counted[VIEW_WALL_WAITING],
			  VIEW_WALL_UNRECORDED);
	} else {
		/* A wait's last part begins when it was woken; the scheduler counts from when another CPU has heard of that. */
		add_piece(pieces, VIEW_WALL_WAITING, above(off_ns, told_ns), VIEW_WALL_UNRECORDED);
	}
	add_piece(pieces, VIEW_WALL_BEYOND, above(told_of_ns(thread), thread->life_ns),
		  VIEW_WALL_TWICE);
}

size_t view_wall_pieces(const struct view *view, const struct view_event *event,
			struct view_wall_piece ret_pieces[VIEW_WALL_PIECES_MAX])
{
	struct pieces pieces = {ret_pieces, 0};
	const struct record_short_wait *waits = (const struct record_short_wait *)event->record;
	struct wall_thread *thread;

	switch (event->kind->number) {
	case KIND_sample:
		add_piece(&pieces, VIEW_WALL_RUNNING, event->weight_ns, NULL);
		break;
	case KIND_off_cpu:
		add_piece(&pieces, why_ready((const struct record_off_cpu *)event->record),
			  ready_part(event), NULL);
		add_piece(&pieces, VIEW_WALL_WAITING, event->dur - ready_part(event), NULL);
		break;
	case KIND_short_wait:
		add_piece(&pieces, VIEW_WALL_READY, known_or_0(waits->ready_ns), VIEW_WALL_SHORT);
		add_piece(&pieces, VIEW_WALL_WAITING,
			  above(known_or_0(waits->time_ns), known_or_0(waits->ready_ns)),
			  VIEW_WALL_SHORT);
		break;
	case KIND_thread_time:
		thread = thread_of(view->wall, event->record);
		if (thread)
			add_rest(&pieces, thread);
		break;
	}
	return pieces.count;
}

const char *view_wall_word(enum view_wall_state state)
{
	static const char *const words[VIEW_WALL_STATES] = {
		[VIEW_WALL_RUNNING] = "running",
		[VIEW_WALL_READY] = "ready",
		[VIEW_WALL_WAITING] = "waiting",
		[VIEW_WALL_PREEMPTED] = "ready: preempted",
		[VIEW_WALL_THROTTLED] = "ready: throttled",
		[VIEW_WALL_WOKEN] = "ready: woken",
		[VIEW_WALL_BEYOND] = "",
	};

	return words[state];
}

void view_wall_free(struct view_wall *wall)
{
	if (!wall)
		return;
	free(wall->threads);
	map_free(&wall->places);
	free(wall);
}
