/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of view_steps.h: in each process the first that gives a track. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "steps/step_bounds.h"
#include "steps/view_steps_parts.h"

#define REPEATED_MIN	  3
#define REPEATED_OFTEN	  8  /* so many need no better ones inside */
#define LAUNCHING_PERCENT 90 /* of a series: have launches inside */
#define INSIDE_PERCENT	  90 /* of the launches of its thread: are inside one of it */
#define SPANNED_PERCENT	  50 /* of the same: between its first and its last */
#define OF_PROCESS_PERCENT \
	25 /* of the launches of a process: by threads with steps that no name tells */

struct choice {
	struct view *view;
	struct steps_found *found;
	struct view_steps *steps;
	struct steps_roots *roots;
	size_t track_capacity, root_capacity;
	u64 time_count; /* of all tracks */
	u32 pid;	/* the process that is looked at */
};

static const struct view_row *row_of(const struct choice *choice, size_t row)
{
	return &view_survey(choice->view)->rows[row];
}

static bool is_of_process(const struct choice *choice, size_t row)
{
	return row_of(choice, row)->type == ROW_THREAD && row_of(choice, row)->pid == choice->pid;
}

static int add_track(struct choice *choice, size_t row, enum view_step_source source, u32 root)
{
	struct view_steps *steps = choice->steps;
	size_t place = steps->track_count;

	if (array_reserve(&steps->tracks, &choice->track_capacity, place + 1) < 0 ||
	    array_reserve(&choice->roots, &choice->root_capacity, place + 1) < 0)
		return -ENOMEM;
	steps->tracks[place] = (struct view_step_track){
		.row_index = row,
		.pid = choice->pid,
		.tid = row_of(choice, row)->tid,
		.source = source,
		.launch_count = choice->found->launch_counts[row],
	};
	choice->roots[place] = (struct steps_roots){.item = root};
	steps->track_count++;
	return 0;
}

static u64 launches_of_process(const struct choice *choice)
{
	u64 launches = 0;

	for (size_t row = 0; row < view_survey(choice->view)->row_count; row++)
		if (is_of_process(choice, row))
			launches += choice->found->launch_counts[row];
	return launches;
}

/* What a thread does beside others that launch far more, such as one for communication, is no step of the program. Drops
 * such tracks. */
static bool is_enough(struct choice *choice, size_t first_track)
{
	u64 launches = 0;

	for (size_t i = first_track; i < choice->steps->track_count; i++)
		launches += choice->steps->tracks[i].launch_count;
	if (launches * 100 >= launches_of_process(choice) * OF_PROCESS_PERCENT)
		return true;
	choice->steps->track_count = first_track;
	return false;
}

static struct view_step_track *track_of(const struct choice *choice, size_t row)
{
	for (size_t i = 0; i < choice->steps->track_count; i++)
		if (choice->steps->tracks[i].row_index == row)
			return &choice->steps->tracks[i];
	return NULL;
}

/* A track for each thread of the process with a chosen series. 1: there is one. */
static int add_series_tracks(struct choice *choice)
{
	int result = 0;

	for (size_t i = 0; i < choice->found->series_count; i++) {
		const struct steps_series *series = &choice->found->series[i];

		if (!series->chosen || !is_of_process(choice, series->row_index))
			continue;
		result = 1;
		if (track_of(choice, series->row_index))
			continue;
		if (add_track(choice, series->row_index, series->source, 0) < 0)
			return -ENOMEM;
		choice->steps->tracks[choice->steps->track_count - 1].spans = true;
	}
	return result;
}

/* ---- --step-name ---- */

static int choose_by_glob(struct choice *choice)
{
	const struct steps_items *points = &choice->found->points;
	int result;

	for (size_t i = 0; i < choice->found->series_count; i++)
		choice->found->series[i].chosen = true;
	result = add_series_tracks(choice);
	for (size_t i = 0; i < points->count && result >= 0; i++)
		if (is_of_process(choice, points->items[i].row) &&
		    !track_of(choice, points->items[i].row))
			result = add_track(choice, points->items[i].row, STEP_OF_NAME,
					   points->items[i].name);
	return result < 0 ? result : 1;
}

/* ---- names ---- */

static bool is_named_step(const struct steps_series *series)
{
	if (series->source == STEP_OF_FUNCTION)
		return false;
	if (series->name == STEP_NAME_STEP)
		return !(series->has_several_steps && series->count == 1);
	return series->name == STEP_NAME_PHASE && !series->has_several_steps && series->count > 1;
}

/* May it be one although it has no launches inside? Where ranges of that name have some, those of other threads are about
 * something else; where none has but the process launches, threads may work for the main one. */
static bool may_not_launch(const struct choice *choice, const struct steps_series *series,
			   bool launching, u64 launches)
{
	const struct view_row *row = row_of(choice, series->row_index);

	return !launching && (!launches || row->tid == row->pid);
}

static int choose_by_name(struct choice *choice)
{
	u64 launches = launches_of_process(choice);
	bool launching = false;

	for (size_t i = 0; i < choice->found->series_count; i++) {
		const struct steps_series *series = &choice->found->series[i];

		if (is_of_process(choice, series->row_index) && is_named_step(series))
			launching |= series->launching_count > 0;
	}
	for (size_t i = 0; i < choice->found->series_count; i++) {
		struct steps_series *series = &choice->found->series[i];

		if (is_of_process(choice, series->row_index) && is_named_step(series))
			series->chosen = series->launching_count > 0 ||
					 may_not_launch(choice, series, launching, launches);
	}
	return add_series_tracks(choice);
}

/* ---- what comes again and again ---- */

static bool is_repeated(const struct choice *choice, const struct steps_series *series)
{
	u64 launches = choice->found->launch_counts[series->row_index];
	u64 spanned = series->launches_behind - series->launches_before;

	if (series->name == STEP_NAME_EPOCH || series->count < REPEATED_MIN || !launches)
		return false;
	return series->launching_count * 100 >= series->count * LAUNCHING_PERCENT &&
	       series->launch_count * 100 >= spanned * INSIDE_PERCENT &&
	       spanned * 100 >= launches * SPANNED_PERCENT;
}

/* A few that have many of a better one inside are larger than a step. */
static bool has_better_inside(const struct choice *choice, const struct steps_series *outer)
{
	if (!outer->has_several || outer->count >= REPEATED_OFTEN)
		return false;
	for (size_t i = 0; i < choice->found->series_count; i++) {
		const struct steps_series *series = &choice->found->series[i];

		if (series->row_index == outer->row_index && series->count >= 3 * outer->count &&
		    is_repeated(choice, series))
			return true;
	}
	return false;
}

static int choose_repeated(struct choice *choice)
{
	size_t first = choice->steps->track_count;
	int result;

	for (size_t i = 0; i < choice->found->series_count; i++) {
		struct steps_series *series = &choice->found->series[i];

		if (is_of_process(choice, series->row_index) && is_repeated(choice, series))
			series->chosen = !has_better_inside(choice, series);
	}
	result = add_series_tracks(choice);
	if (result != 1 || is_enough(choice, first))
		return result;
	for (size_t i = 0; i < choice->found->series_count; i++)
		if (is_of_process(choice, choice->found->series[i].row_index))
			choice->found->series[i].chosen = false;
	return 0;
}

/* ---- what is periodic ---- */

static struct step_sequence sequence_of(const struct choice *choice, size_t row)
{
	const size_t *places = choice->found->item_places;

	return (struct step_sequence){
		.items = &choice->found->items,
		.first = places[row],
		.count = places[row + 1] - places[row],
		.types = choice->found->names.types,
	};
}

/* How much work, and whether the host takes part at all. */
static u64 work_of(const struct step_sequence *sequence, bool *ret_host)
{
	u64 work = 0;

	*ret_host = false;
	for (size_t i = 0; i < sequence->count; i++) {
		enum step_item_type type = sequence->types[step_sequence_at(sequence, i)->name];

		work += type == STEP_ITEM_KERNEL || type == STEP_ITEM_GRAPH;
		*ret_host |= type == STEP_ITEM_HOST || type == STEP_ITEM_INPUT;
	}
	return work;
}

static const enum view_step_source item_sources[] = {
	[STEP_ITEM_KERNEL] = STEP_OF_KERNEL,
	[STEP_ITEM_OPTIMIZER] = STEP_OF_OPTIMIZER,
	[STEP_ITEM_GRAPH] = STEP_OF_GRAPH,
};

/* Threads that also copy from or to the host or wait run loops of their own; others, such as one that only computes
 * gradients, work for one that does. Where none does, the one with the most work is taken. */
static int choose_periodic(struct choice *choice)
{
	const struct steps_names *names = &choice->found->names;
	size_t first = choice->steps->track_count;
	u64 best_work = 0;
	bool best_host = false;

	for (size_t row = 0; row < view_survey(choice->view)->row_count; row++) {
		struct step_sequence sequence = {0};
		bool host;
		u64 work;
		u32 root;
		int result;

		if (is_of_process(choice, row))
			sequence = sequence_of(choice, row);
		if (!sequence.count)
			continue;
		result = step_period_find(&sequence, names->item_count, &root);
		if (result == -ENOENT)
			continue;
		work = work_of(&sequence, &host);
		if (result < 0 ||
		    (best_work && (host < best_host || (!host && work <= best_work)))) {
			if (result < 0)
				return result;
			continue;
		}
		if (!host || !best_host)
			choice->steps->track_count = first;
		best_work = work;
		best_host = host;
		if (add_track(choice, row, item_sources[names->types[root]], root) < 0)
			return -ENOMEM;
	}
	return choice->steps->track_count > first && is_enough(choice, first);
}

static int choose_of_process(struct choice *choice)
{
	int result;

	if (choice->found->names.glob)
		return choose_by_glob(choice);
	result = choose_by_name(choice);
	if (result == 0)
		result = choose_repeated(choice);
	if (result == 0)
		result = choose_periodic(choice);
	return result;
}

/* ---- when the periodic ones begin ---- */

static int add_time(struct choice *choice, struct steps_roots *roots, u64 ts)
{
	/* The last one of a track begins no step. */
	if (choice->time_count >= choice->found->steps_max + choice->steps->track_count) {
		choice->steps->left_out++;
		return 0;
	}
	choice->time_count++;
	if (array_reserve(&roots->times_ns, &roots->capacity, roots->count + 1) < 0)
		return -ENOMEM;
	roots->times_ns[roots->count++] = ts;
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	u64 left = *(const u64 *)a, right = *(const u64 *)b;

	return left < right ? -1 : left > right;
}

static void sort_times(struct steps_roots *roots)
{
	size_t count = 0;

	if (roots->count)
		qsort(roots->times_ns, roots->count, sizeof(*roots->times_ns), compare_times);
	for (size_t i = 0; i < roots->count; i++)
		if (!i || roots->times_ns[i] != roots->times_ns[count - 1])
			roots->times_ns[count++] = roots->times_ns[i];
	roots->count = count;
}

/* What matches --step-name, of which nothing says where the last one ends. */
static int add_point_times(struct choice *choice)
{
	const struct steps_items *points = &choice->found->points;
	const struct view_steps *steps = choice->steps;

	for (size_t i = 0; i < steps->track_count; i++)
		for (size_t n = 0; n < points->count && !steps->tracks[i].spans; n++)
			if (points->items[n].row == steps->tracks[i].row_index &&
			    add_time(choice, &choice->roots[i], points->items[n].ts_ns) < 0)
				return -ENOMEM;
	return 0;
}

static int add_bounds(struct choice *choice, size_t row, struct steps_roots *roots)
{
	struct step_sequence sequence = sequence_of(choice, row);
	struct step_bounds bounds = {0};
	int result = step_bounds_find(&sequence, roots->item, &bounds);
	u64 left_out = choice->steps->left_out;

	for (size_t n = 0; result == 0 && n < bounds.count; n++)
		result = add_time(choice, roots,
				  step_sequence_at(&sequence, bounds.begins[n])->ts_ns);
	/* The last one of those that there are places for begins no step, but that of all does. */
	if (result == 0 && choice->steps->left_out == left_out)
		roots->last_end_ns = bounds.last_end_ns;
	else
		choice->steps->left_out += bounds.last_end_ns != 0;
	free(bounds.begins);
	return result;
}

static int add_item_times(struct choice *choice)
{
	const struct view_steps *steps = choice->steps;
	int result = 0;

	for (size_t i = 0; i < steps->track_count && result == 0; i++)
		if (!steps->tracks[i].spans)
			result = add_bounds(choice, steps->tracks[i].row_index, &choice->roots[i]);
	return result;
}

/* A capture that is longer than what was kept of it: which work or call of a track begins its steps is known. */
static int add_event_time(struct choice *choice, size_t row, u64 ts, s64 item)
{
	u32 place = choice->steps->row_tracks[row];
	struct steps_roots *roots = place ? &choice->roots[place - 1] : NULL;

	if (item < 0 || !roots || !item || roots->item != item)
		return item < 0 ? item : 0;
	/* A graph is many pieces of work of one launch. */
	if (roots->count && roots->times_ns[roots->count - 1] == ts)
		return 0;
	return add_time(choice, roots, ts);
}

static int time_event(void *data, const struct view_event *event, struct err *err)
{
	struct choice *choice = data;
	struct steps_names *names = &choice->found->names;
	struct steps_known known = {0};
	enum view_step_source source;
	u16 kind = event->kind->number;
	int result = 0;

	if (event->kind->row == ROW_STREAM && event->cause) {
		result = add_event_time(choice, event->cause->row_index, event->cause->ts,
					steps_names_work(names, event));
	} else if (kind == KIND_call || kind == KIND_entry ||
		   steps_is_range(choice->view, event, &source)) {
		result = steps_names_find(names, event, &known);
		if (result == 0 && known.name == STEP_NAME_OPTIMIZER &&
		    known.series != STEPS_SERIES_NONE &&
		    (kind == KIND_entry || steps_has_end(event)))
			result = add_event_time(
				choice, event->row_index, event->ts,
				steps_names_optimizer(names, choice->view, known.series));
	}
	return result < 0 ? err_errno(err, result, "can't look for steps") : 0;
}

static int find_times(struct choice *choice, struct err *err)
{
	const struct view_sink sink = {.span = time_event, .point = time_event};
	struct view_steps *steps = choice->steps;
	bool periodic = false;
	int result = 0;

	for (size_t i = 0; i < steps->track_count; i++)
		periodic |= !steps->tracks[i].spans;
	if (choice->found->names.glob) {
		steps->left_out += choice->found->points_left_out;
		result = add_point_times(choice);
	} else if (periodic && choice->found->cut_ns == ~0ULL) {
		result = add_item_times(choice);
	} else if (periodic) {
		result = steps_index_rows(choice->view, steps);
		if (result == 0)
			return view_run(choice->view, &sink, choice, err);
	}
	return result < 0 ? err_errno(err, result, "can't look for steps") : 0;
}

/* ---- all processes ---- */

static int choose_of_all(struct choice *choice)
{
	const struct view_survey *survey = view_survey(choice->view);
	_cleanup_map_ struct map seen = {0};
	int result = 0;

	for (size_t row = 0; row < survey->row_count && result >= 0; row++) {
		choice->pid = survey->rows[row].pid;
		if (survey->rows[row].type != ROW_THREAD || map_find(&seen, choice->pid, 0))
			continue;
		result = map_set(&seen, choice->pid, 0, 1);
		if (result == 0)
			result = choose_of_process(choice);
	}
	return result < 0 ? result : 0;
}

int steps_choose(struct view *view, struct steps_found *found, struct view_steps *steps,
		 struct steps_roots **ret_roots, struct err *err)
{
	struct choice choice = {.view = view, .found = found, .steps = steps};
	int result = choose_of_all(&choice);

	if (result < 0)
		err_errno(err, result, "can't look for steps");
	else
		result = find_times(&choice, err);
	for (size_t i = 0; i < steps->track_count && result == 0; i++)
		sort_times(&choice.roots[i]);
	if (result == 0)
		*ret_roots = choice.roots;
	else
		steps_roots_free(choice.roots, steps->track_count);
	return result;
}

void steps_roots_free(struct steps_roots *roots, size_t count)
{
	for (size_t i = 0; roots && i < count; i++)
		free(roots[i].times_ns);
	free(roots);
}
