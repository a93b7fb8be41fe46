/* SPDX-License-Identifier: GPL-2.0-or-later */
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
#include "view/view_parts.h"

struct view_launch {
	struct view_cause cause;
	u32 source;
	u32 correlation;
	u64 matmul; /* number of the library call that it was made in, 0: none with known sizes */
};

void view_causes_init(struct view_causes *causes, size_t launches_max)
{
	*causes = (struct view_causes){.launches_max = launches_max ? launches_max : LAUNCHES_MAX};
}

void view_causes_free(struct view_causes *causes)
{
	map_free(&causes->table);
	free(causes->recent);
	map_free(&causes->forgotten);
	map_free(&causes->unmatched);
	map_free(&causes->unmatched_ns);
	map_free(&causes->sources);
	map_free(&causes->first_calls);
	free(causes->launches);
	free(causes->caused);
	map_free(&causes->more_effects);
}

void view_causes_finish(struct view_causes *causes)
{
	map_free(&causes->table);
	free(causes->recent);
	causes->recent = NULL;
	map_free(&causes->forgotten);
	map_free(&causes->unmatched);
	map_free(&causes->unmatched_ns);
	free(causes->launches);
	causes->launches = NULL;
	causes->launch_capacity = 0;
}

u64 view_causes_effects(const struct view_causes *causes, u64 launch)
{
	u64 place = (launch - 1) / 64;
	const u64 *more;

	if (!launch || place >= causes->caused_capacity ||
	    !(causes->caused[place] >> (launch - 1) % 64 & 1))
		return 0;
	more = map_find(&causes->more_effects, launch, 0);
	return 1 + (more ? *more : 0);
}

/* ---- launches by their number ---- */

/*
 * Numbers of a source count up, so that the launches of late lie side by side in an array by their lowest bits, where
 * looking one up costs next to nothing; the rest is in the map.
 */
static u32 *recent_of(const struct view_causes *causes, u32 correlation)
{
	return causes->recent ? &causes->recent[correlation % RECENT_LAUNCHES] : NULL;
}

static bool is_launch(const struct view_causes *causes, size_t place, u32 source, u32 correlation)
{
	return causes->launches[place].source == source &&
	       causes->launches[place].correlation == correlation;
}

/* NULL: there is none. */
static struct view_launch *find_launch(const struct view_causes *causes, u32 source,
				       u32 correlation)
{
	const u32 *recent = recent_of(causes, correlation);
	const u64 *place;

	if (recent && *recent && is_launch(causes, *recent - 1, source, correlation))
		return &causes->launches[*recent - 1];
	place = map_find(&causes->table, source, correlation);
	return place ? &causes->launches[*place] : NULL;
}

/* The launch at place becomes the one with its number. */
static int enter_launch(struct view_causes *causes, size_t place)
{
	const struct view_launch *launch = &causes->launches[place], *other;
	u32 *recent;

	if (!causes->recent)
		causes->recent = calloc(RECENT_LAUNCHES, sizeof(*causes->recent));
	recent = recent_of(causes, launch->correlation);
	if (!recent)
		return -ENOMEM;
	map_remove(&causes->table, launch->source, launch->correlation);
	other = *recent && *recent - 1 != place ? &causes->launches[*recent - 1] : NULL;
	if (other && !is_launch(causes, *recent - 1, launch->source, launch->correlation) &&
	    map_set(&causes->table, other->source, other->correlation, *recent - 1) < 0)
		return -ENOMEM;
	*recent = place + 1;
	return 0;
}

static void remove_launch(struct view_causes *causes, size_t place)
{
	const struct view_launch *launch = &causes->launches[place];
	u32 *recent = recent_of(causes, launch->correlation);

	if (recent && *recent == place + 1)
		*recent = 0;
	else
		map_remove(&causes->table, launch->source, launch->correlation);
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
	if (causes->caused[place] >> (launch - 1) % 64 & 1) {
		const u64 *more = map_find(&causes->more_effects, launch, 0);

		return map_set(&causes->more_effects, launch, 0, more ? *more + 1 : 1);
	}
	causes->caused[place] |= 1ULL << (launch - 1) % 64;
	return 0;
}

static int note_source(struct view_causes *causes, u32 source, u32 correlation)
{
	const u64 *lowest;

	/* Numbers grow: so it is for nearly all. */
	if (causes->sources.count && causes->last_source == source &&
	    correlation >= causes->last_first)
		return 0;
	lowest = map_find(&causes->first_calls, source, 0);
	causes->last_first = lowest && *lowest < correlation ? *lowest : correlation;
	causes->last_source = source;
	if (map_set(&causes->first_calls, source, 0, causes->last_first) < 0)
		return -ENOMEM;
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
	u64 *highest;

	if (find_launch(causes, oldest->source, oldest->correlation) != oldest)
		return 0; /* its number has been used again since */
	remove_launch(causes, place);
	highest = map_find(&causes->forgotten, oldest->source, 0);
	if (highest && *highest >= oldest->correlation)
		return 0;
	return map_set(&causes->forgotten, oldest->source, 0, oldest->correlation);
}

/* Kernels with this number that came before it have started before their launch. */
static void match_early_effects(struct view_causes *causes, u32 source, u32 correlation)
{
	u64 *early = map_find(&causes->unmatched, source, correlation);
	u64 *early_ns = map_find(&causes->unmatched_ns, source, correlation);

	if (!early)
		return;
	causes->after_kernel_count += *early;
	causes->missing_count -= *early;
	causes->missing_ns -= early_ns ? *early_ns : 0;
	map_remove(&causes->unmatched, source, correlation);
	map_remove(&causes->unmatched_ns, source, correlation);
}

static int add_launch(struct view_causes *causes, struct view_event *event, u32 correlation,
		      u32 path, const struct view_within *within, u64 matmul)
{
	const struct record_header *record = event->record;
	struct view_launch *there = find_launch(causes, record->source, correlation), *launch;
	size_t place = causes->launch_count % causes->launches_max;

	if (there) {
		const struct view_cause *outer = &there->cause;

		if (outer->ts + outer->dur > event->ts && outer->tid == record->tid) {
			event->inner_call = true;
			return 0;
		}
	}
	if (note_source(causes, record->source, correlation) < 0)
		return -ENOMEM;
	if (causes->launch_count >= causes->launches_max && forget_oldest(causes, place) < 0)
		return -ENOMEM;
	if (array_reserve(&causes->launches, &causes->launch_capacity, place + 1) < 0)
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
			  .path = path,
			  .stack = causes->stacks ? view_launch_stacks_get(causes->stacks,
									   causes->launch_count)
						  : (struct view_launch_stack){0},
			  .within = within ? *within : (struct view_within){0}},
		.source = record->source,
		.correlation = correlation,
		.matmul = matmul,
	};
	event->launch = causes->launch_count;
	match_early_effects(causes, record->source, correlation);
	return enter_launch(causes, place);
}

/* Adds to what a map says of a number. Beyond the cap all stay "missing". */
static int add_unmatched(const struct view_causes *causes, struct map *map, u32 source,
			 u32 correlation, u64 more)
{
	u64 *sum = map_find(map, source, correlation);

	if (!sum && map->count >= causes->launches_max)
		return 0;
	return map_set(map, source, correlation, (sum ? *sum : 0) + more);
}

static int count_unmatched(struct view_causes *causes, u32 source, u32 correlation, u64 dur)
{
	u64 *highest = map_find(&causes->forgotten, source, 0);
	int result;

	if (highest && correlation <= *highest) {
		causes->forgotten_count++;
		return 0;
	}
	causes->missing_count++;
	causes->missing_ns += dur;
	result = add_unmatched(causes, &causes->unmatched, source, correlation, 1);
	return result < 0 ? result
			  : add_unmatched(causes, &causes->unmatched_ns, source, correlation, dur);
}

/* Events come in time order, so that a launch found has begun. Records of a GPU know no thread. */
static bool may_cause(const struct view_cause *cause, const struct view_event *event)
{
	const struct record_header *effect = event->record;

	return (!effect->pid || !cause->pid || effect->pid == cause->pid) &&
	       (!effect->tid || effect->tid == cause->tid);
}

u64 view_causes_upper_half(const struct view_causes *causes, u32 source)
{
	const u64 *place = map_find(&causes->sources, source, 0);

	return (place ? *place : causes->sources.count) << 32;
}

u64 view_unique_correlation(const struct view *view, const struct view_event *event)
{
	const struct schema_field *field = view->kinds.kinds[event->kind->number].correlation;

	return view_causes_upper_half(&view->causes, event->record->source) |
	       schema_field_value(field, event->record, 0);
}

bool view_causes_is_poll(const struct view_causes *causes, const struct record_header *record)
{
	static const char query[] = "EventQuery";
	const struct record_sync *sync = (const struct record_sync *)record;
	const struct view_launch *call;
	const char *name;
	const u64 *first;

	if (record->kind != KIND_sync || sync->type != VALUE_sync_type_event)
		return false;
	first = map_find(&causes->first_calls, record->source, 0);
	if (!first)
		return false;
	call = find_launch(causes, record->source, sync->correlation);
	name = call ? call->cause.name : NULL;
	if (call)
		return name && strstr(name, query);
	/* Numbers are given as calls begin: what has a lower one than all that are recorded began before the window. */
	return sync->correlation >= *first && !causes->calls_left_out;
}

int view_causes_add(struct view_causes *causes, const struct view_kind *kind,
		    struct view_event *event, u32 path, const struct view_within *within,
		    struct view_matmuls *matmuls)
{
	u32 correlation, source = event->record->source;
	const struct view_launch *there;
	const struct view_cause *cause;

	if (!kind->correlation)
		return 0;
	correlation = schema_field_value(kind->correlation, event->record, 0);
	if (correlation == kind->correlation->absent)
		return 0;
	if (kind->kind->row == ROW_THREAD)
		return add_launch(causes, event, correlation, path, within,
				  matmuls ? view_matmuls_launched_in(matmuls, event) : 0);
	there = find_launch(causes, source, correlation);
	cause = there ? &there->cause : NULL;
	/* A moment is told of by its call alone: no arrow leads to it. */
	if (kind->kind->shape == SHAPE_POINT) {
		event->cause = cause && may_cause(cause, event) ? cause : NULL;
		return 0;
	}
	if (kind->kind->row == ROW_STREAM)
		causes->work_ns += event->dur;
	if (!cause || !may_cause(cause, event))
		return kind->kind->row == ROW_STREAM
			       ? count_unmatched(causes, source, correlation, event->dur)
			       : 0;
	event->cause = cause;
	event->has_sizes = there->matmul && event->kind->number == KIND_kernel;
	if (matmuls && event->has_sizes) {
		event->cause = view_matmuls_take(matmuls, there->matmul, event, cause);
		event->has_sizes =
			event->cause->matmul || view_matmuls_end_seen(matmuls, there->matmul);
	}
	/* CUPTI's own work in a call is not what the call launched. */
	return kind->kind->number == KIND_overhead ? 0 : note_caused(causes, cause->number);
}
