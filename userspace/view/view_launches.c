/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Launches by their number. A kernel comes soon after its launch, so that all that is known of a launch is only kept of the last ones, in a ring; of
 * older ones a number and an origin are left, by which they are found. What the ring gives away is kept whole where it will be asked for: where the call still
 * runs, and where the survey, which goes through the same events, asked for it late. The survey itself needs no more of those than their origin says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/view_parts.h"

/* Of an older one, and of all of its origin. */
struct launch_origin {
	u32 source, pid, tid;
	u32 mark; /* its path, of the survey */
	size_t row_index;
	const char *name; /* of what asks only; NULL: another call */
};

void view_launches_init(struct view_launches *launches, size_t max, size_t recent_max)
{
	*launches = (struct view_launches){.max = max ? max : LAUNCHES_MAX,
					   .recent_max = recent_max ? recent_max : LAUNCHES_WHOLE};
}

static void free_kept(struct map *kept)
{
	for (size_t i = 0; i < kept->capacity; i++)
		if (kept->slots[i].used)
			free((void *)(uintptr_t)kept->slots[i].value);
	map_free(kept);
}

/* Capacities are of what is gone. */
void view_launches_finish(struct view_launches *launches)
{
	struct view_bits late = launches->late;

	launches->late = (struct view_bits){0};
	view_launches_free(launches);
	*launches = (struct view_launches){.late = late};
}

void view_launches_free(struct view_launches *launches)
{
	map_free(&launches->table);
	free(launches->by_number);
	free(launches->items);
	free(launches->matmuls);
	free(launches->origins);
	map_free(&launches->origin_index);
	free(launches->recent);
	free_kept(&launches->kept);
	free(launches->late.words);
}

/* ---- bits ---- */

bool view_bits_has(const struct view_bits *bits, u64 number)
{
	u64 place = (number - 1) / 64;

	return number && place < bits->capacity && bits->words[place] >> (number - 1) % 64 & 1;
}

int view_bits_add(struct view_bits *bits, u64 number)
{
	size_t place = (number - 1) / 64, before = bits->capacity;

	if (array_reserve(&bits->words, &bits->capacity, place + 1) < 0)
		return -ENOMEM;
	if (bits->capacity > before)
		memset(bits->words + before, 0, (bits->capacity - before) * sizeof(*bits->words));
	bits->words[place] |= 1ULL << (number - 1) % 64;
	return 0;
}

/* ---- by their number ---- */

/*
 * Numbers of a source count up, so that the launches of late lie side by side in an array by their lowest bits, where
 * looking one up costs next to nothing; the rest is in the map.
 */
static u32 *entry_of(const struct view_launches *launches, u32 correlation)
{
	return launches->by_number ? &launches->by_number[correlation % LAUNCHES_BY_NUMBER] : NULL;
}

static u32 source_at(const struct view_launches *launches, size_t place)
{
	return launches->origins[launches->items[place].origin].source;
}

static bool is_launch(const struct view_launches *launches, size_t place, u32 source,
		      u32 correlation)
{
	return launches->items[place].correlation == correlation &&
	       source_at(launches, place) == source;
}

s64 view_launches_find(const struct view_launches *launches, u32 source, u32 correlation)
{
	const u32 *entry = entry_of(launches, correlation);
	const u64 *place;

	if (entry && *entry && is_launch(launches, *entry - 1, source, correlation))
		return *entry - 1;
	place = map_find(&launches->table, source, correlation);
	return place ? (s64)*place : -ENOENT;
}

/* The launch at place becomes the one with its number. */
static int enter(struct view_launches *launches, size_t place, u32 source)
{
	u32 correlation = launches->items[place].correlation, *entry;

	if (!launches->by_number)
		launches->by_number = calloc(LAUNCHES_BY_NUMBER, sizeof(*launches->by_number));
	entry = entry_of(launches, correlation);
	if (!entry)
		return -ENOMEM;
	map_remove(&launches->table, source, correlation);
	if (*entry && *entry - 1 != place &&
	    !is_launch(launches, *entry - 1, source, correlation) &&
	    map_set(&launches->table, source_at(launches, *entry - 1),
		    launches->items[*entry - 1].correlation, *entry - 1) < 0)
		return -ENOMEM;
	*entry = place + 1;
	return 0;
}

static void leave(struct view_launches *launches, size_t place)
{
	u32 correlation = launches->items[place].correlation;
	u32 *entry = entry_of(launches, correlation);

	if (entry && *entry == place + 1)
		*entry = 0;
	else
		map_remove(&launches->table, source_at(launches, place), correlation);
}

/* ---- all that is known of them ---- */

/* Of the last that was given that place. */
static u64 number_at(const struct view_launches *launches, size_t place)
{
	size_t last = (launches->count - 1) % launches->max;

	return launches->count - (last + launches->max - place) % launches->max;
}

static const struct view_launch *whole_at(const struct view_launches *launches, u64 number)
{
	const u64 *kept;

	if (number + launches->recent_max > launches->count)
		return &launches->recent[(number - 1) % launches->recent_max];
	kept = map_find(&launches->kept, number, 0);
	return kept ? (const struct view_launch *)(uintptr_t)*kept : NULL;
}

bool view_launches_is_inside(const struct view_launches *launches, size_t place,
			     const struct view_event *event)
{
	const struct view_launch *outer = whole_at(launches, number_at(launches, place));

	return outer && outer->cause.ts + outer->cause.dur > event->ts &&
	       outer->cause.tid == event->record->tid;
}

bool view_launches_asks(const struct view_launches *launches, size_t place)
{
	return launches->origins[launches->items[place].origin].name;
}

const struct view_launch *view_launches_get(struct view_launches *launches, size_t place)
{
	u64 number = number_at(launches, place);
	const struct view_launch *whole = whole_at(launches, number);
	const struct launch_origin *origin;

	if (whole)
		return whole;
	if (view_bits_add(&launches->late, number) < 0)
		return NULL;
	origin = &launches->origins[launches->items[place].origin];
	launches->older = (struct view_launch){
		.cause = {.number = number,
			  .pid = origin->pid,
			  .tid = origin->tid,
			  .row_index = origin->row_index,
			  .name = origin->name,
			  .path = origin->mark},
		.source = origin->source,
		.correlation = launches->items[place].correlation,
		.matmul = place < launches->matmul_capacity ? launches->matmuls[place] : 0,
	};
	return &launches->older;
}

/* The ring gives away what is at place in it. */
static int keep(struct view_launches *launches, size_t place, u64 now_ns)
{
	const struct view_launch *launch = &launches->recent[place];
	struct view_launch *copy;

	if (launch->cause.ts + launch->cause.dur <= now_ns &&
	    !(launches->surveyed && view_bits_has(&launches->surveyed->late, launch->cause.number)))
		return 0;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *launch;
	if (map_set(&launches->kept, launch->cause.number, 0, (uintptr_t)copy) == 0)
		return 0;
	free(copy);
	return -ENOMEM;
}

int view_launches_forget(struct view_launches *launches, struct map *forgotten)
{
	size_t place = launches->count % launches->max;
	u32 correlation = launches->items[place].correlation, source = source_at(launches, place);
	u64 number = launches->count - launches->max + 1;
	u64 *kept = map_find(&launches->kept, number, 0), *highest;

	if (kept) {
		free((void *)(uintptr_t)*kept);
		map_remove(&launches->kept, number, 0);
	}
	if (view_launches_find(launches, source, correlation) != (s64)place)
		return 0; /* its number has been used again since */
	leave(launches, place);
	highest = map_find(forgotten, source, 0);
	if (highest && *highest >= correlation)
		return 0;
	return map_set(forgotten, source, 0, correlation);
}

/* ---- a new one ---- */

static s64 add_origin(struct view_launches *launches, const struct view_launch *launch,
		      const char *name)
{
	const struct view_cause *cause = &launch->cause;
	/* The run has all of a launch that anybody asks for: no paths, of which there are many. */
	u32 mark = launches->surveyed ? 0 : cause->path;
	u64 who = (u64)cause->pid << 32 | cause->tid;
	u64 how = (u64)launch->source << 32 | mark << 1 | (name != NULL);
	const struct launch_origin *last =
		launches->origin_count ? &launches->origins[launches->last_origin] : NULL;
	const u64 *found;

	if (last && last->pid == cause->pid && last->tid == cause->tid &&
	    last->source == launch->source && last->mark == mark && !last->name == !name)
		return launches->last_origin;
	found = map_find(&launches->origin_index, who, how);
	if (found)
		return launches->last_origin = *found;
	if (array_reserve(&launches->origins, &launches->origin_capacity,
			  launches->origin_count + 1) < 0 ||
	    map_set(&launches->origin_index, who, how, launches->origin_count) < 0)
		return -ENOMEM;
	launches->origins[launches->origin_count] = (struct launch_origin){
		.source = launch->source,
		.pid = cause->pid,
		.tid = cause->tid,
		.mark = mark,
		.row_index = cause->row_index,
		.name = name,
	};
	return launches->last_origin = launches->origin_count++;
}

static int note_matmul(struct view_launches *launches, size_t place, u64 matmul)
{
	size_t before = launches->matmul_capacity;

	if (!matmul && place >= before)
		return 0;
	if (array_reserve(&launches->matmuls, &launches->matmul_capacity, place + 1) < 0)
		return -ENOMEM;
	if (launches->matmul_capacity > before)
		memset(launches->matmuls + before, 0,
		       (launches->matmul_capacity - before) * sizeof(*launches->matmuls));
	launches->matmuls[place] = matmul;
	return 0;
}

int view_launches_add(struct view_launches *launches, const struct view_launch *launch, bool asks)
{
	size_t place = launches->count % launches->max;
	size_t recent = launches->count % launches->recent_max;
	s64 origin = add_origin(launches, launch, asks ? launch->cause.name : NULL);

	if (origin < 0 ||
	    array_reserve(&launches->items, &launches->item_capacity, place + 1) < 0 ||
	    array_reserve(&launches->recent, &launches->recent_capacity, recent + 1) < 0 ||
	    note_matmul(launches, place, launch->matmul) < 0)
		return -ENOMEM;
	if (launches->count >= launches->recent_max && launches->recent_max < launches->max &&
	    keep(launches, recent, launch->cause.ts) < 0)
		return -ENOMEM;
	launches->items[place] = (struct view_launch_item){launch->correlation, origin};
	launches->recent[recent] = *launch;
	launches->recent[recent].cause.number = ++launches->count;
	return enter(launches, place, launch->source);
}
