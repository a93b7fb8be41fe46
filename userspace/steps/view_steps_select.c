/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which thread's what are steps. One pass over the events gathers, of each thread, the series of its ranges and, up to a
 * cap, the sequence of what it launched; then each process is looked at for itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "steps/step_items.h"
#include "steps/view_steps_parts.h"

#define DEPTH_MAX 16 /* of ranges inside one another; deeper ones have no part */

/* A range that has begun. */
struct open_range {
	u32 series;
	u64 end_ns, number; /* from 1, over all ranges */
	u64 launches_before;
};

struct thread {
	struct open_range *open; /* DEPTH_MAX; NULL: it had none yet */
	unsigned depth;
	u64 launches;
};

struct steps_select {
	const struct view *view;
	struct steps_found found;
	const struct steps_limits *limits;
	struct thread *threads; /* [row] */
	size_t thread_count;
	struct paged_array launches; /* [number of the launch - 1] */
	u64 range_count;
};

/* ---- series ---- */

static u64 series_key(u32 key, enum view_step_source source)
{
	return (u64)key << 8 | source;
}

size_t steps_found_series(const struct steps_found *found, size_t row_index, u32 key,
			  enum view_step_source source)
{
	const u64 *place = map_find(&found->series_index, row_index, series_key(key, source));

	return place ? *place + 1 : 0;
}

/* Its place, or -ENOMEM. */
static s64 add_series(struct steps_select *select, const struct view_event *event,
		      const struct steps_known *known, enum view_step_source source)
{
	struct steps_found *found = &select->found;
	size_t place = found->series_count;
	u64 *seen_in;

	if (array_reserve(&found->series, &found->series_capacity, place + 1) < 0)
		return -ENOMEM;
	seen_in = calloc(DEPTH_MAX, sizeof(*seen_in));
	if (!seen_in)
		return -ENOMEM;
	found->series[place] = (struct steps_series){
		.row_index = event->row_index,
		.key = known->series,
		.source = source,
		.name = known->name,
		.launches_before = select->threads[event->row_index].launches,
		.seen_in = seen_in,
	};
	found->series_count++;
	if (map_set(&found->series_index, event->row_index, series_key(known->series, source),
		    place) < 0)
		return -ENOMEM;
	return place;
}

static bool names_steps(enum step_name name)
{
	return name == STEP_NAME_STEP || name == STEP_NAME_PHASE;
}

static void end_range(struct steps_select *select, struct thread *thread)
{
	const struct open_range *range = &thread->open[--thread->depth];
	struct steps_series *series = &select->found.series[range->series];
	u64 launches = thread->launches - range->launches_before;

	series->count++;
	series->launching_count += launches > 0;
	series->launch_count += launches;
	series->launches_behind = thread->launches;
}

static void end_ranges(struct steps_select *select, struct thread *thread, u64 ts)
{
	while (thread->depth && thread->open[thread->depth - 1].end_ns <= ts)
		end_range(select, thread);
}

/* Who has it inside, and has had another one of its series inside already. */
static void note_outer(struct steps_select *select, const struct thread *thread,
		       struct steps_series *series)
{
	for (unsigned depth = 0; depth < thread->depth; depth++) {
		const struct open_range *range = &thread->open[depth];
		struct steps_series *outer = &select->found.series[range->series];

		if (series->seen_in[depth] == range->number) {
			outer->has_several = true;
			if (names_steps(series->name))
				outer->has_several_steps = true;
		}
		series->seen_in[depth] = range->number;
	}
}

static bool is_open(const struct thread *thread, u32 series)
{
	for (unsigned depth = 0; depth < thread->depth; depth++)
		if (thread->open[depth].series == series)
			return true;
	return false;
}

static int add_span(struct steps_select *select, const struct view_event *event, u32 series)
{
	struct steps_found *found = &select->found;

	if (found->span_count == select->limits->spans) {
		found->spans_cut = true;
		return 0;
	}
	if (array_reserve(&found->spans, &found->span_capacity, found->span_count + 1) < 0)
		return -ENOMEM;
	found->spans[found->span_count++] =
		(struct steps_span){event->name, event->ts, event->end, series};
	return 0;
}

static int begin_range(struct steps_select *select, const struct view_event *event,
		       const struct steps_known *known, enum view_step_source source)
{
	struct thread *thread = &select->threads[event->row_index];
	size_t place = steps_found_series(&select->found, event->row_index, known->series, source);
	s64 series = place ? (s64)place - 1 : add_series(select, event, known, source);

	if (series < 0)
		return series;
	if (!thread->open)
		thread->open = calloc(DEPTH_MAX, sizeof(*thread->open));
	if (!thread->open)
		return -ENOMEM;
	if (thread->depth == DEPTH_MAX || is_open(thread, series))
		return 0;
	note_outer(select, thread, &select->found.series[series]);
	thread->open[thread->depth++] = (struct open_range){
		.series = series,
		.end_ns = event->end,
		.number = ++select->range_count,
		.launches_before = thread->launches,
	};
	return add_span(select, event, series);
}

/* ---- items ---- */

static struct step_item item_of(const struct view_event *event, u32 name)
{
	return (struct step_item){event->ts, event->row_index, name, event->end};
}

/* Those between the last one and place, if any, have no name. */
static int set_item(struct paged_array *items, size_t place, struct step_item item)
{
	if (paged_array_grow(items, place + 1) < 0)
		return -ENOMEM;
	*(struct step_item *)paged_array_change(items, place) = item;
	return 0;
}

/* One more than there may be steps: the last one begins none. */
static int add_point(struct steps_select *select, const struct view_event *event)
{
	s64 name = steps_names_item(&select->found.names, event->name, STEP_ITEM_OTHER);
	struct steps_items *points = &select->found.points;

	if (name < 0)
		return name;
	if (points->count > select->found.steps_max) {
		select->found.points_left_out++;
		return 0;
	}
	if (array_reserve(&points->items, &points->capacity, points->count + 1) < 0)
		return -ENOMEM;
	points->items[points->count++] = item_of(event, name);
	return 0;
}

static void cut_at(struct steps_select *select, u64 ts)
{
	if (ts < select->found.cut_ns)
		select->found.cut_ns = ts;
}

static int add_item(struct steps_select *select, const struct view_event *event, s64 name)
{
	struct paged_array *items = &select->found.items;

	if (name <= 0)
		return name;
	if (items->count < select->limits->calls)
		return set_item(items, items->count, item_of(event, name));
	cut_at(select, event->ts);
	return 0;
}

static int add_optimizer(struct steps_select *select, const struct view_event *event,
			 const struct steps_known *known)
{
	if (known->series == STEPS_SERIES_NONE)
		return 0;
	return add_item(select, event,
			steps_names_optimizer(&select->found.names, select->view, known->series));
}

static int add_launch(struct steps_select *select, const struct view_event *event)
{
	size_t place = event->launch - 1;

	if (place >= select->limits->launches) {
		cut_at(select, event->ts);
		return 0;
	}
	return set_item(&select->launches, place, item_of(event, 0));
}

/* The first work says what a launch is. */
static int name_launch(struct steps_select *select, const struct view_event *event)
{
	size_t place = event->cause->number - 1;
	const struct step_item *launch;
	s64 name;

	if (select->found.names.glob || place >= select->launches.count)
		return 0;
	launch = paged_array_at(&select->launches, place);
	if (launch->name)
		return 0;
	name = steps_names_work(&select->found.names, event);
	if (name > 0)
		((struct step_item *)paged_array_change(&select->launches, place))->name = name;
	return name < 0 ? name : 0;
}

/* ---- events ---- */

static int add_api(struct steps_select *select, const struct view_event *event,
		   const struct steps_known *known)
{
	int result = 0;

	if (event->inner_call)
		return 0;
	if (known->matches)
		return add_point(select, event);
	if (event->launch)
		select->threads[event->row_index].launches++;
	if (event->launch && !select->found.names.glob)
		result = add_launch(select, event);
	if (result == 0 && !select->found.names.glob && strstr(event->name, "Synchronize"))
		result = add_item(
			select, event,
			steps_names_item(&select->found.names, event->name, STEP_ITEM_HOST));
	return result;
}

static int add_call(struct steps_select *select, const struct view_event *event,
		    const struct steps_known *known, enum view_step_source source, bool function)
{
	bool glob = select->found.names.glob;

	if (!steps_has_end(event) || (glob && !known->matches) ||
	    known->series == STEPS_SERIES_NONE)
		return 0;
	if (!glob && known->name == STEP_NAME_OPTIMIZER)
		return add_optimizer(select, event, known);
	if (!glob && function && known->name != STEP_NAME_STEP)
		return 0;
	return begin_range(select, event, known, glob ? STEP_OF_NAME : source);
}

static int select_span(void *data, const struct view_event *event, struct err *err)
{
	enum view_step_source source = STEP_OF_FUNCTION;
	struct steps_select *select = data;
	u16 kind = event->kind->number;
	struct steps_known known = {0};
	int result = 0;

	if (event->kind->row == ROW_STREAM) {
		if (event->cause)
			result = name_launch(select, event);
	} else if (kind == KIND_api || kind == KIND_call || kind == KIND_range ||
		   kind == KIND_usdt_span) {
		end_ranges(select, &select->threads[event->row_index], event->ts);
		if (kind != KIND_api || select->found.names.glob)
			result = steps_names_find(&select->found.names, event, &known);
		if (result == 0 && kind == KIND_api)
			result = add_api(select, event, &known);
		else if (result == 0 && (steps_is_range(select->view, event, &source) ||
					 kind == KIND_call || known.matches))
			result = add_call(select, event, &known, source, kind == KIND_call);
	}
	return result < 0 ? err_errno(err, result, "can't look for steps") : 0;
}

static int select_point(void *data, const struct view_event *event, struct err *err)
{
	struct steps_select *select = data;
	u16 kind = event->kind->number;
	struct steps_known known;
	int result;

	if (kind != KIND_entry && kind != KIND_mark && kind != KIND_usdt_point)
		return 0;
	result = steps_names_find(&select->found.names, event, &known);
	if (result == 0 && known.matches)
		result = add_point(select, event);
	else if (result == 0 && !select->found.names.glob && kind == KIND_entry &&
		 known.name == STEP_NAME_OPTIMIZER)
		result = add_optimizer(select, event, &known);
	return result < 0 ? err_errno(err, result, "can't look for steps") : 0;
}

const struct view_sink steps_select_sink = {.span = select_span, .point = select_point};

/* ---- behind the pass ---- */

static int finish(struct steps_select *select, struct err *err)
{
	int result;

	for (size_t row = 0; row < select->thread_count; row++) {
		end_ranges(select, &select->threads[row], ~0ULL);
		select->found.launch_counts[row] = select->threads[row].launches;
	}
	result = step_items_merge(&select->found.items, &select->launches, select->found.cut_ns,
				  select->thread_count, select->found.item_places);
	return result < 0 ? err_errno(err, result, "can't look for steps") : 0;
}

void steps_found_free(struct steps_found *found)
{
	for (size_t i = 0; i < found->series_count; i++)
		free(found->series[i].seen_in);
	free(found->series);
	map_free(&found->series_index);
	steps_names_free(&found->names);
	free(found->launch_counts);
	free(found->item_places);
	free(found->spans);
	paged_array_free(&found->items);
	free(found->points.items);
}

struct steps_select *steps_select_new(const struct view *view, const char *glob,
				      const struct steps_limits *limits)
{
	struct steps_select *select = calloc(1, sizeof(*select));

	if (!select)
		return NULL;
	select->found = (struct steps_found){
		.names = {.glob = glob}, .cut_ns = ~0ULL, .steps_max = limits->steps};
	select->view = view;
	select->limits = limits;
	select->thread_count = view_survey(view)->row_count;
	paged_array_init(&select->found.items, sizeof(struct step_item));
	paged_array_init(&select->launches, sizeof(struct step_item));
	select->threads = calloc(select->thread_count + 1, sizeof(*select->threads));
	select->found.launch_counts =
		calloc(select->thread_count + 1, sizeof(*select->found.launch_counts));
	select->found.item_places =
		calloc(select->thread_count + 1, sizeof(*select->found.item_places));
	if (select->threads && select->found.launch_counts && select->found.item_places)
		return select;
	steps_select_free(select);
	return NULL;
}

int steps_select_finish(struct steps_select *select, struct steps_found *ret_found, struct err *err)
{
	int result = finish(select, err);

	if (result < 0)
		return result;
	*ret_found = select->found;
	select->found = (struct steps_found){0};
	paged_array_init(&select->found.items, sizeof(struct step_item));
	return 0;
}

void steps_select_free(struct steps_select *select)
{
	if (!select)
		return;
	for (size_t row = 0; select->threads && row < select->thread_count; row++)
		free(select->threads[row].open);
	free(select->threads);
	paged_array_free(&select->launches);
	steps_found_free(&select->found);
	free(select);
}
