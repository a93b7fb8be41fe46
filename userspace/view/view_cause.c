/*
 * What launched what: calls on a thread with a correlation number are launches, all other spans with
 * one are effects. The numbers mean something only with their source, and come again after a while, so
 * a later launch takes the place of one that is over; a launch has any number of effects (a graph), none
 * before itself and none of another process. Of two calls of a thread with one number of which one is
 * inside the other (runtime and driver API) the outer is the launch; it comes first in time order.
 * Work on a stream has a launch, so one without is missed; waits and overhead may well have none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/view_internal.h"

struct view_launch {
	struct view_cause cause;
	u32 source;
	u32 correlation;
};

void view_causes_init(struct view_causes *causes, size_t launches_max)
{
	*causes = (struct view_causes){.launches_max = launches_max ? launches_max : LAUNCHES_MAX};
}

void view_causes_free(struct view_causes *causes)
{
	map_free(&causes->table);
	map_free(&causes->forgotten);
	map_free(&causes->unmatched);
	map_free(&causes->sources);
	free(causes->launches);
	free(causes->caused);
}

void view_causes_finish(struct view_causes *causes)
{
	map_free(&causes->table);
	map_free(&causes->forgotten);
	map_free(&causes->unmatched);
	free(causes->launches);
	causes->launches = NULL;
	causes->launch_capacity = 0;
}

bool view_causes_caused(const struct view_causes *causes, u64 launch)
{
	u64 place = (launch - 1) / 64;

	return launch && place < causes->caused_capacity &&
	       causes->caused[place] >> (launch - 1) % 64 & 1;
}

/* Capacity is what is zeroed here. */
static int note_caused(struct view_causes *causes, u64 launch)
{
	size_t place = (launch - 1) / 64, before = causes->caused_capacity;

	if (array_reserve(&causes->caused, &causes->caused_capacity, place + 1) < 0)
		return -ENOMEM;
	if (causes->caused_capacity > before)
		memset(causes->caused + before, 0,
		       (causes->caused_capacity - before) * sizeof(*causes->caused));
	causes->caused[place] |= 1ULL << (launch - 1) % 64;
	return 0;
}

static int note_source(struct view_causes *causes, u32 source)
{
	if (map_find(&causes->sources, source, 0))
		return 0;
	return map_set(&causes->sources, source, 0, causes->sources.count);
}

/* The oldest launch gives its place away. Kernels come about in the order of their launches, so one
 * that finds no launch at or below the highest number that was forgotten is taken to have come too
 * late. */
static int forget_oldest(struct view_causes *causes, size_t place)
{
	const struct view_launch *oldest = &causes->launches[place];
	u64 *current = map_find(&causes->table, oldest->source, oldest->correlation);
	u64 *highest;

	if (!current || *current != place)
		return 0; /* its number has been used again since */
	map_remove(&causes->table, oldest->source, oldest->correlation);
	highest = map_find(&causes->forgotten, oldest->source, 0);
	if (highest && *highest >= oldest->correlation)
		return 0;
	return map_set(&causes->forgotten, oldest->source, 0, oldest->correlation);
}

/* Kernels with this number that came before it have started before their launch. */
static void match_early_effects(struct view_causes *causes, u32 source, u32 correlation)
{
	u64 *early = map_find(&causes->unmatched, source, correlation);

	if (!early)
		return;
	causes->after_kernel_count += *early;
	causes->missing_count -= *early;
	map_remove(&causes->unmatched, source, correlation);
}

static int add_launch(struct view_causes *causes, struct view_event *event, u32 correlation,
		      u32 path)
{
	const struct record_header *record = event->record;
	u64 *there = map_find(&causes->table, record->source, correlation);
	size_t place = causes->launch_count % causes->launches_max;
	struct view_launch *launch;

	if (there) {
		const struct view_cause *outer = &causes->launches[*there].cause;

		if (outer->ts + outer->dur > event->ts && outer->tid == record->tid) {
			event->inner_call = true;
			return 0;
		}
	}
	if (note_source(causes, record->source) < 0)
		return -ENOMEM;
	if (causes->launch_count >= causes->launches_max && forget_oldest(causes, place) < 0)
		return -ENOMEM;
	if (array_reserve(&causes->launches, &causes->launch_capacity, place + 1) < 0 ||
	    map_set(&causes->table, record->source, correlation, place) < 0)
		return -ENOMEM;
	launch = &causes->launches[place];
	causes->launch_count++;
	*launch = (struct view_launch){
		.cause = {.number = causes->launch_count,
			  .ts = event->ts,
			  .dur = event->dur,
			  .pid = record->pid,
			  .tid = record->tid,
			  .row_index = event->row_index,
			  .lane = event->lane,
			  .open = event->open,
			  .name = event->name,
			  .path = path},
		.source = record->source,
		.correlation = correlation,
	};
	event->launch = causes->launch_count;
	match_early_effects(causes, record->source, correlation);
	return 0;
}

static int count_unmatched(struct view_causes *causes, u32 source, u32 correlation)
{
	u64 *highest = map_find(&causes->forgotten, source, 0), *count;

	if (highest && correlation <= *highest) {
		causes->forgotten_count++;
		return 0;
	}
	causes->missing_count++;
	count = map_find(&causes->unmatched, source, correlation);
	if (count) {
		(*count)++;
		return 0;
	}
	/* Beyond the cap they all stay "missing". */
	if (causes->unmatched.count >= causes->launches_max)
		return 0;
	return map_set(&causes->unmatched, source, correlation, 1);
}

/* Events come in time order, so that a launch found has begun. Records of a GPU know no thread. */
static bool may_cause(const struct view_cause *cause, const struct view_event *event)
{
	const struct record_header *effect = event->record;

	return (!effect->pid || !cause->pid || effect->pid == cause->pid) &&
	       (!effect->tid || effect->tid == cause->tid);
}

int view_causes_add(struct view_causes *causes, const struct view_kind *kind,
		    struct view_event *event, u32 path)
{
	u32 correlation, source = event->record->source;
	const struct view_cause *cause;
	u64 *there;

	if (!kind->correlation)
		return 0;
	correlation = schema_field_value(kind->correlation, event->record, 0);
	if (correlation == kind->correlation->absent)
		return 0;
	if (kind->kind->row == ROW_THREAD)
		return add_launch(causes, event, correlation, path);
	there = map_find(&causes->table, source, correlation);
	cause = there ? &causes->launches[*there].cause : NULL;
	/* A moment is told of by its call alone: no arrow leads to it. */
	if (kind->kind->shape == SHAPE_POINT) {
		event->cause = cause && may_cause(cause, event) ? cause : NULL;
		return 0;
	}
	if (!cause || !may_cause(cause, event))
		return kind->kind->row == ROW_STREAM ? count_unmatched(causes, source, correlation)
						     : 0;
	event->cause = cause;
	return note_caused(causes, cause->number);
}
