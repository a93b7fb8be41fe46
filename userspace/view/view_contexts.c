/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the work of a thread belongs that has no ranges of its own: an engine's (autograd's backward), a pool's, a framework's. Two
 * things tell it, and the first is the surer one:
 *	- WAIT: another thread is off its CPU and is woken by this one in the end. Locks are waited for too (Python's), so this counts only
 *	  for threads of whose work nearly all is launched in such waits: those work for others. It waits inside of ranges and functions of
 *	  its own, and has launched work itself. Where waits were recorded up to a moment only, what is launched up to then decides.
 *	- TIME: one thread of the process, and no other, launches its work in ranges: what it has open at that moment.
 * Who wakes a thread and waits for it next, with no wait and no call of CUDA between, waits for it from that moment on: whoever is woken may
 * take the CPU of the one that woke it, and launch a good deal before that one comes to its wait. The survey finds these.
 * The survey counts what of each thread was launched where; the run looks up. Threads are known by their place in the survey, since
 * rows are sorted behind it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/view_parts.h"

#define WAITERS_MAX 8	       /* for one thread at a time; later ones are not looked at */
#define EARLY_MAX   (1U << 20) /* later ones wait from where they do */

/* What stands in the path of a cause in the survey, which makes no paths. */
#define MARK_IN_RANGE 1U
#define MARK_IN_WAIT  2U
#define MARK_AWAITED  4U

struct context_thread {
	u64 work, work_in_ranges, work_in_waits;
	u64 work_awaited; /* in the wait of one other thread, whatever that one is in */
	u64 work_watched; /* launched while waits were recorded: of the rest nothing tells who waited */
	u64 range_end,
		scope_end; /* of ranges, of functions too: the latest end so far. Before it one of them is open */
	u64 busy_until; /* of the survey: it called CUDA, or waited, before that */
	u32 pid, tid;
	bool works_for_others;
	bool is_awaited; /* the same, without a look at ranges and functions */
};

struct context_waiter {
	size_t row_index; /* ROW_UNKNOWN: it is early */
	u64 end;
	u32 tid;
	u32 stack;     /* at which it waits; 0: none was taken */
	bool in_scope; /* of the survey: in a range or function of its own */
	bool foreign; /* nothing of the program stands in its stack: it wants no work, but does some for others */
};

#define ROW_UNKNOWN SIZE_MAX

/* Who waits for one thread, in the order of their begins. */
struct context_waiters {
	struct context_waiter waiters[WAITERS_MAX];
	unsigned count;
	/* Of the survey: the last time that another thread of the process woke it, and whether it has called CUDA since. */
	u64 woken_ns, woken_end_ns; /* when that was; when it ran again */
	u32 woken_by;
	bool called_since;
};

static bool is_range(u16 kind)
{
	return kind == KIND_range || kind == KIND_usdt_span;
}

/* ---- who waits for whom ---- */

static int find_waiters(struct view_contexts *contexts, u32 pid, u32 tid,
			struct context_waiters **ret_waiters)
{
	u64 *place = map_find(&contexts->waited_for, pid, tid);

	if (place) {
		*ret_waiters = &contexts->waiters[*place];
		return 0;
	}
	if (array_reserve(&contexts->waiters, &contexts->waiter_capacity,
			  contexts->waiter_count + 1) < 0 ||
	    map_set(&contexts->waited_for, pid, tid, contexts->waiter_count) < 0)
		return -ENOMEM;
	*ret_waiters = &contexts->waiters[contexts->waiter_count++];
	**ret_waiters = (struct context_waiters){0};
	return 0;
}

static void drop_ended(struct context_waiters *waiters, u64 ts)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < waiters->count; i++)
		if (waiters->waiters[i].end > ts)
			waiters->waiters[kept++] = waiters->waiters[i];
	waiters->count = kept;
}

/* Those that wait for this thread at ts; NULL: none. */
static struct context_waiters *waiters_at(struct view_contexts *contexts, u32 pid, u32 tid, u64 ts)
{
	const u64 *place = map_find(&contexts->waited_for, pid, tid);
	struct context_waiters *waiters = place ? &contexts->waiters[*place] : NULL;

	if (waiters)
		drop_ended(waiters, ts);
	return waiters && waiters->count ? waiters : NULL;
}

/* The thread of a driver or a framework, which waits for what is launched. */
static int find_foreign(struct view_contexts *contexts, const struct view_event *event,
			bool *ret_foreign)
{
	const struct record_header *wait = event->record;
	const u64 *known = map_find(&contexts->foreign, wait->pid, wait->stack);

	*ret_foreign = false;
	if (!wait->stack)
		return 0;
	*ret_foreign = known ? *known : view_is_foreign(contexts->view, wait->pid, wait->stack);
	return known ? 0 : map_set(&contexts->foreign, wait->pid, wait->stack, *ret_foreign);
}

/* Was it woken by another thread of its process? */
static bool is_woken(const struct record_off_cpu *wait)
{
	return wait->waker_tid && wait->waker_pid == wait->header.pid &&
	       wait->waker_tid != wait->header.tid;
}

/* One that was early is here now. */
static void put_waiter(struct context_waiters *waiters, const struct context_waiter *waiter)
{
	unsigned place = 0;

	while (place < waiters->count && (waiters->waiters[place].row_index != ROW_UNKNOWN ||
					  waiters->waiters[place].tid != waiter->tid))
		place++;
	if (place == WAITERS_MAX)
		return;
	waiters->waiters[place] = *waiter;
	if (place == waiters->count)
		waiters->count++;
}

/* ret_waiters: of the thread that woke it; NULL: no other one of its process did. */
static int add_wait(struct view_contexts *contexts, const struct view_event *event, bool in_scope,
		    struct context_waiters **ret_waiters, struct context_waiter *ret_waiter)
{
	const struct record_off_cpu *wait = (const struct record_off_cpu *)event->record;
	bool foreign;

	*ret_waiters = NULL;
	if (!is_woken(wait))
		return 0;
	if (find_waiters(contexts, wait->waker_pid, wait->waker_tid, ret_waiters) < 0 ||
	    find_foreign(contexts, event, &foreign) < 0)
		return -ENOMEM;
	*ret_waiter = (struct context_waiter){event->row_index,	    event->end, event->record->tid,
					      event->record->stack, in_scope,	foreign};
	drop_ended(*ret_waiters, event->ts);
	put_waiter(*ret_waiters, ret_waiter);
	return 0;
}

/* ---- who woke it and waits for it next ---- */

/* Of the survey: a thread goes off its CPU until another one of its process wakes it. */
static int note_woken(struct view_contexts *contexts, const struct view_event *event)
{
	const struct record_off_cpu *wait = (const struct record_off_cpu *)event->record;
	u64 runnable_ns = wait->runnable_ns < event->dur ? wait->runnable_ns : 0;
	struct context_waiters *of_it;

	if (!is_woken(wait))
		return 0;
	if (find_waiters(contexts, event->record->pid, event->record->tid, &of_it) < 0)
		return -ENOMEM;
	of_it->woken_by = wait->waker_tid;
	of_it->woken_ns = event->end - runnable_ns;
	of_it->woken_end_ns = event->end;
	of_it->called_since = false;
	return 0;
}

/* Of the survey: one waits, from ts on, for the thread that of_other is of. busy_until: of who waits. */
static int note_early(struct view_contexts *contexts, const struct context_waiters *of_other,
		      const struct context_waiter *waiter, u64 busy_until, u32 pid, u32 other)
{
	struct context_waiter early = *waiter;

	if (of_other->woken_by != waiter->tid || !of_other->called_since ||
	    busy_until > of_other->woken_ns || contexts->early_count == EARLY_MAX)
		return 0;
	early.row_index = ROW_UNKNOWN;
	if (array_reserve(&contexts->early, &contexts->early_capacity, contexts->early_count + 1) <
		    0 ||
	    map_set(&contexts->early_places, (u64)pid << 32 | other, of_other->woken_end_ns,
		    contexts->early_count) < 0)
		return -ENOMEM;
	contexts->early[contexts->early_count++] = early;
	return 0;
}

/* Of a run: a thread goes off its CPU. Who wakes it then may wait for it from then on, and until then it launches nothing. */
static int put_early(struct view_contexts *contexts, const struct view_contexts *surveyed,
		     const struct view_event *event)
{
	u32 pid = event->record->pid, tid = event->record->tid;
	const u64 *place = map_find(&surveyed->early_places, (u64)pid << 32 | tid, event->end);
	struct context_waiters *of_it;

	if (!place)
		return 0;
	if (find_waiters(contexts, pid, tid, &of_it) < 0)
		return -ENOMEM;
	drop_ended(of_it, event->ts);
	put_waiter(of_it, &surveyed->early[*place]);
	return 0;
}

/* ---- survey ---- */

static struct context_thread *thread_of(struct view_contexts *contexts,
					const struct view_event *event)
{
	struct context_thread *thread;

	if (array_reserve(&contexts->threads, &contexts->thread_capacity, event->row_index + 1) < 0)
		return NULL;
	while (contexts->thread_count <= event->row_index)
		contexts->threads[contexts->thread_count++] = (struct context_thread){0};
	thread = &contexts->threads[event->row_index];
	thread->pid = event->row->pid;
	thread->tid = event->row->tid;
	return thread;
}

static void add_scope(struct context_thread *thread, const struct view_event *event)
{
	if (event->end > thread->scope_end)
		thread->scope_end = event->end;
	if (is_range(event->kind->number) && event->end > thread->range_end)
		thread->range_end = event->end;
}

/* The one that waits in code of the program; NULL: none does, or several. */
static const struct context_waiter *only_waiter(const struct context_waiters *waiters)
{
	const struct context_waiter *only = NULL;

	for (unsigned i = 0; waiters && i < waiters->count; i++) {
		if (waiters->waiters[i].foreign)
			continue;
		if (only)
			return NULL;
		only = &waiters->waiters[i];
	}
	return only;
}

static u32 wait_marks(const struct context_waiters *waiters)
{
	u32 marks = only_waiter(waiters) ? MARK_AWAITED : 0;

	for (unsigned i = 0; waiters && i < waiters->count; i++)
		if (waiters->waiters[i].in_scope)
			marks |= MARK_IN_WAIT;
	return marks;
}

/* A thread that is preempted goes on where it was. */
static int survey_wait(struct view_contexts *contexts, const struct view_event *event,
		       struct context_thread *thread)
{
	const struct record_off_cpu *wait = (const struct record_off_cpu *)event->record;
	struct context_waiters *of_other;
	struct context_waiter waiter;
	int result = add_wait(contexts, event, event->ts < thread->scope_end, &of_other, &waiter);

	if (result == 0 && of_other)
		result = note_early(contexts, of_other, &waiter, thread->busy_until,
				    wait->waker_pid, wait->waker_tid);
	if (result == 0)
		result = note_woken(contexts, event);
	if (wait->reason != VALUE_off_cpu_reason_preempted && event->end > thread->busy_until)
		thread->busy_until = event->end;
	return result;
}

static u32 survey_call(struct view_contexts *contexts, const struct view_event *event,
		       struct context_thread *thread)
{
	const u64 *place = map_find(&contexts->waited_for, thread->pid, thread->tid);

	if (place)
		contexts->waiters[*place].called_since = true;
	if (event->end > thread->busy_until)
		thread->busy_until = event->end;
	return (event->ts < thread->range_end ? MARK_IN_RANGE : 0) |
	       wait_marks(waiters_at(contexts, thread->pid, thread->tid, event->ts));
}

int view_contexts_survey(struct view_contexts *contexts, const struct view_event *event,
			 u32 *ret_mark)
{
	u16 kind = event->kind->number;
	struct context_thread *thread;

	*ret_mark = 0;
	if (event->row->type != ROW_THREAD ||
	    (kind != KIND_api && kind != KIND_off_cpu && kind != KIND_call && !is_range(kind)))
		return 0;
	thread = thread_of(contexts, event);
	if (!thread)
		return -ENOMEM;
	if (kind == KIND_off_cpu)
		return survey_wait(contexts, event, thread);
	if (kind == KIND_api)
		*ret_mark = survey_call(contexts, event, thread);
	else
		add_scope(thread, event);
	return 0;
}

void view_contexts_survey_work(struct view_contexts *contexts, const struct view_event *event)
{
	const struct view_cause *cause = event->cause;
	struct context_thread *thread;

	if (!cause || event->kind->row != ROW_STREAM || event->kind->shape != SHAPE_SPAN ||
	    cause->row_index >= contexts->thread_count)
		return;
	thread = &contexts->threads[cause->row_index];
	thread->work++;
	if (cause->ts < view_recorded_until(contexts->view, VALUE_recorded_sort_waits, cause->pid))
		thread->work_watched++;
	thread->work_in_ranges += cause->path & MARK_IN_RANGE ? 1 : 0;
	thread->work_in_waits += cause->path & MARK_IN_WAIT ? 1 : 0;
	thread->work_awaited += cause->path & MARK_AWAITED ? 1 : 0;
}

/* ---- behind the survey ---- */

/* Nearly all, three of four, so that somebody who waits for its lock now and then does not count. */
static bool is_nearly_all(u64 part, const struct context_thread *thread)
{
	return part && 4 * part >= 3 * thread->work_watched;
}

/* A library below it (CUB, cuDNN) may have ranges of its own around some of it. */
static bool has_own_ranges(const struct context_thread *thread)
{
	return thread->work_in_ranges && 2 * thread->work_in_ranges >= thread->work;
}

/* Of a process: the one thread that has, or if none has, the only one of those that launch anything in ranges. */
struct leaders {
	size_t own, some; /* rows */
	unsigned own_count, some_count;
};

static void count_leader(struct leaders *leaders, const struct context_thread *thread, size_t row)
{
	if (!thread->work_in_ranges || thread->works_for_others)
		return;
	leaders->some = row;
	leaders->some_count++;
	if (has_own_ranges(thread)) {
		leaders->own = row;
		leaders->own_count++;
	}
}

static int set_leader(struct view_contexts *contexts, const struct leaders *leaders, u32 pid)
{
	if (leaders->own_count == 1)
		return map_set(&contexts->leaders, pid, 0, leaders->own);
	if (!leaders->own_count && leaders->some_count == 1)
		return map_set(&contexts->leaders, pid, 0, leaders->some);
	return 0;
}

int view_contexts_finish(struct view_contexts *contexts, const struct view_row *rows,
			 size_t row_count)
{
	struct map places = {0};
	struct leaders leaders = {0};
	int result = 0;

	for (size_t i = 0; i < contexts->thread_count && result == 0; i++) {
		struct context_thread *thread = &contexts->threads[i];

		thread->works_for_others = is_nearly_all(thread->work_in_waits, thread);
		thread->is_awaited = is_nearly_all(thread->work_awaited, thread);
		if (thread->pid)
			result = map_set(&places, thread->pid, thread->tid, i);
	}
	contexts->threads_of_rows = calloc(row_count + 1, sizeof(*contexts->threads_of_rows));
	if (!contexts->threads_of_rows)
		result = -ENOMEM;
	/* Rows of a process lie side by side. */
	for (size_t row = 0; row < row_count && result == 0; row++) {
		const u64 *place = rows[row].type == ROW_THREAD
					   ? map_find(&places, rows[row].pid, rows[row].tid)
					   : NULL;

		if (place) {
			contexts->threads_of_rows[row] = *place + 1;
			count_leader(&leaders, &contexts->threads[*place], row);
		}
		if (row + 1 == row_count || rows[row + 1].pid != rows[row].pid) {
			result = set_leader(contexts, &leaders, rows[row].pid);
			leaders = (struct leaders){0};
		}
	}
	contexts->row_count = row_count;
	map_free(&places);
	map_free(&contexts->foreign);
	map_free(&contexts->waited_for);
	contexts->waiter_count = 0;
	return result;
}

void view_contexts_free(struct view_contexts *contexts)
{
	free(contexts->threads);
	free(contexts->threads_of_rows);
	free(contexts->waiters);
	free(contexts->early);
	map_free(&contexts->early_places);
	map_free(&contexts->foreign);
	map_free(&contexts->waited_for);
	map_free(&contexts->leaders);
	*contexts = (struct view_contexts){0};
}

/* ---- run ---- */

static const struct context_thread *thread_at(const struct view_contexts *contexts, size_t row)
{
	u32 place = row < contexts->row_count ? contexts->threads_of_rows[row] : 0;

	return place ? &contexts->threads[place - 1] : NULL;
}

/* The path of this row there; of its ranges alone, since a function that runs meanwhile has nothing to do with it. */
static int path_at(struct view_paths *paths, size_t row, u64 ts, bool ranges_alone, u32 *ret_path)
{
	int result = view_paths_at(paths, row, ts, ret_path);

	while (result == 0 && ranges_alone && *ret_path &&
	       !is_range(paths->paths[*ret_path - 1].kind))
		*ret_path = paths->paths[*ret_path - 1].parent;
	return result;
}

/* Of several that wait the first that is served. ret_row is not changed where there is none. */
static int find_waiter(struct view_contexts *contexts, const struct view_contexts *surveyed,
		       struct view_paths *paths, const struct view_event *event, size_t *ret_row,
		       u32 *ret_path)
{
	const struct context_waiters *waiters =
		waiters_at(contexts, event->record->pid, event->record->tid, event->ts);
	u64 first_end = UINT64_MAX;

	for (unsigned i = 0; waiters && i < waiters->count; i++) {
		const struct context_waiter *waiter = &waiters->waiters[i];
		const struct context_thread *thread = thread_at(surveyed, waiter->row_index);
		u32 path;

		if (!thread || !thread->work || waiter->end >= first_end)
			continue;
		if (path_at(paths, waiter->row_index, event->ts, false, &path) < 0)
			return -ENOMEM;
		if (!path)
			continue;
		first_end = waiter->end;
		*ret_row = waiter->row_index;
		*ret_path = path;
	}
	return 0;
}

/* Of a thread that has no ranges, or works for others; 0 in ret_path: nothing is around it. */
static int find_context(struct view_contexts *contexts, const struct view_contexts *surveyed,
			struct view_paths *paths, const struct view_event *event,
			struct view_within *within, u32 *ret_path)
{
	const struct context_thread *thread = thread_at(surveyed, event->row_index);
	const u64 *leader;

	*ret_path = 0;
	if (!thread || (!thread->works_for_others && has_own_ranges(thread)))
		return 0;
	if (thread->works_for_others &&
	    find_waiter(contexts, surveyed, paths, event, &within->row_index, ret_path) < 0)
		return -ENOMEM;
	within->by = VIEW_WITHIN_BY_WAIT;
	if (*ret_path)
		return 0;
	leader = map_find(&surveyed->leaders, event->record->pid, 0);
	if (!leader || *leader == event->row_index)
		return 0;
	within->row_index = *leader;
	within->by = VIEW_WITHIN_BY_TIME;
	return path_at(paths, *leader, event->ts, true, ret_path);
}

/* Where the one thread that waits for this one does so; 0: none does, or several, or not for nearly all of its work. */
static u32 waiter_stack(struct view_contexts *contexts, const struct view_contexts *surveyed,
			const struct view_event *event)
{
	const struct context_thread *thread = thread_at(surveyed, event->row_index);
	const struct context_waiter *waiter;

	if (!thread || !thread->is_awaited)
		return 0;
	waiter = only_waiter(
		waiters_at(contexts, event->record->pid, event->record->tid, event->ts));
	return waiter ? waiter->stack : 0;
}

static int run_wait(struct view_contexts *contexts, const struct view_contexts *surveyed,
		    const struct view_event *event)
{
	struct context_waiters *of_other;
	struct context_waiter waiter;
	int result = add_wait(contexts, event, false, &of_other, &waiter);

	return result < 0 ? result : put_early(contexts, surveyed, event);
}

int view_contexts_add(struct view_contexts *contexts, const struct view_contexts *surveyed,
		      struct view_paths *paths, const struct view_event *event, u32 path,
		      struct view_within *ret_within)
{
	const struct view_within own = {
		.path = path,
		.by = path ? VIEW_WITHIN_OWN : VIEW_WITHIN_NOTHING,
		.row_index = event->row_index,
	};
	u16 kind = event->kind->number;
	u64 own_range;
	u32 around = 0;

	*ret_within = own;
	if (kind == KIND_off_cpu)
		return run_wait(contexts, surveyed, event);
	if (kind != KIND_api || event->row->type != ROW_THREAD)
		return 0;
	own_range = view_paths_range(paths, event->row_index);
	if (find_context(contexts, surveyed, paths, event, ret_within, &around) < 0)
		return -ENOMEM;
	if (!around)
		*ret_within = own;
	ret_within->range = own_range;
	ret_within->waiter_stack = waiter_stack(contexts, surveyed, event);
	if (!around)
		return 0;
	ret_within->outer_range = view_paths_range(paths, ret_within->row_index);
	return view_paths_join(paths, around, path, &ret_within->path);
}
