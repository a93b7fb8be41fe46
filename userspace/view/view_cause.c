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

void view_causes_init(struct view_causes *causes, size_t max, size_t recent_max)
{
	*causes = (struct view_causes){0};
	view_launches_init(&causes->launches, max, recent_max);
}

void view_causes_free(struct view_causes *causes)
{
	view_launches_free(&causes->launches);
	map_free(&causes->forgotten);
	map_free(&causes->unmatched);
	map_free(&causes->unmatched_ns);
	map_free(&causes->sources);
	map_free(&causes->first_calls);
	free(causes->caused.words);
	map_free(&causes->more_effects);
}

/* Numbers grow: what has a lower one than all calls that were recorded was launched before them. */
static void settle_missing(struct view_causes *causes)
{
	for (size_t i = 0; i < causes->unmatched.capacity; i++) {
		const struct map_slot *slot = &causes->unmatched.slots[i];
		const u64 *first =
			slot->used ? map_find(&causes->first_calls, slot->key_a, 0) : NULL;
		const u64 *ns;

		if (!first || slot->key_b >= *first)
			continue;
		ns = map_find(&causes->unmatched_ns, slot->key_a, slot->key_b);
		causes->before_count += slot->value;
		causes->missing_count -= slot->value;
		causes->missing_ns -= ns ? *ns : 0;
	}
}

void view_causes_finish(struct view_causes *causes)
{
	settle_missing(causes);
	view_launches_finish(&causes->launches);
	map_free(&causes->forgotten);
	map_free(&causes->unmatched);
	map_free(&causes->unmatched_ns);
}

u64 view_causes_effects(const struct view_causes *causes, u64 launch)
{
	const u64 *more;

	if (!view_bits_has(&causes->caused, launch))
		return 0;
	more = map_find(&causes->more_effects, launch, 0);
	return 1 + (more ? *more : 0);
}

static int note_caused(struct view_causes *causes, u64 launch)
{
	const u64 *more;

	if (!view_bits_has(&causes->caused, launch))
		return view_bits_add(&causes->caused, launch);
	more = map_find(&causes->more_effects, launch, 0);
	return map_set(&causes->more_effects, launch, 0, more ? *more + 1 : 1);
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

/* CUPTI notes such a call as a wait too. Most calls are as the one before. */
static bool is_query(struct view_causes *causes, const struct view_event *event)
{
	if (causes->last_name != event->name) {
		causes->last_name = event->name;
		causes->last_is_query = strstr(event->name, "EventQuery");
	}
	return causes->last_is_query;
}

static int add_launch(struct view_causes *causes, struct view_event *event, u32 correlation,
		      u32 path, const struct view_within *within, u64 matmul)
{
	const struct record_header *record = event->record;
	struct view_launches *launches = &causes->launches;
	s64 there = view_launches_find(launches, record->source, correlation);
	struct view_launch launch;

	if (there >= 0 && view_launches_is_inside(launches, there, event)) {
		event->inner_call = true;
		return 0;
	}
	/* Kernels come about in the order of their launches, so one that finds no launch at or below the highest number that
	 * was forgotten is taken to have come too late. */
	if (note_source(causes, record->source, correlation) < 0 ||
	    (launches->count >= launches->max &&
	     view_launches_forget(launches, &causes->forgotten) < 0))
		return -ENOMEM;
	event->launch = launches->count + 1;
	launch = (struct view_launch){
		.cause = {.number = event->launch,
			  .ts = event->ts,
			  .dur = event->dur,
			  .pid = record->pid,
			  .tid = record->tid,
			  .row_index = event->row_index,
			  .lane = event->lane,
			  .open = event->open,
			  .name = event->name,
			  .path = path,
			  .stack = causes->stacks
					   ? view_launch_stacks_get(causes->stacks, event->launch)
					   : (struct view_launch_stack){0},
			  .within = within ? *within : (struct view_within){0}},
		.source = record->source,
		.correlation = correlation,
		.matmul = matmul,
	};
	match_early_effects(causes, record->source, correlation);
	return view_launches_add(launches, &launch, is_query(causes, event));
}

/* Adds to what a map says of a number. Beyond the cap all stay "missing". */
static int add_unmatched(const struct view_causes *causes, struct map *map, u32 source,
			 u32 correlation, u64 more)
{
	u64 *sum = map_find(map, source, correlation);

	if (!sum && map->count >= causes->launches.max)
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
	const u64 *place;

	/* Most captures have one. */
	if (causes->sources.count == 1 && causes->last_source == source)
		return 0;
	place = map_find(&causes->sources, source, 0);
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
	const struct record_sync *sync = (const struct record_sync *)record;
	const u64 *first;
	s64 call;

	if (record->kind != KIND_sync || sync->type != VALUE_sync_type_event)
		return false;
	first = map_find(&causes->first_calls, record->source, 0);
	if (!first)
		return false;
	call = view_launches_find(&causes->launches, record->source, sync->correlation);
	if (call >= 0)
		return view_launches_asks(&causes->launches, call);
	/* Numbers are given as calls begin: what has a lower one than all that are recorded began before the window. */
	return sync->correlation >= *first && !causes->calls_left_out;
}

int view_causes_add(struct view_causes *causes, const struct view_kind *kind,
		    struct view_event *event, u32 path, const struct view_within *within,
		    struct view_matmuls *matmuls)
{
	u32 correlation, source = event->record->source;
	const struct view_launch *there = NULL;
	const struct view_cause *cause;
	s64 place;

	if (!kind->correlation)
		return 0;
	correlation = schema_field_value(kind->correlation, event->record, 0);
	if (correlation == kind->correlation->absent)
		return 0;
	if (kind->kind->row == ROW_THREAD)
		return add_launch(causes, event, correlation, path, within,
				  matmuls ? view_matmuls_launched_in(matmuls, event) : 0);
	place = view_launches_find(&causes->launches, source, correlation);
	if (place >= 0) {
		there = view_launches_get(&causes->launches, place);
		if (!there)
			return -ENOMEM;
	}
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
