/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Causes as they are entered: each once, with its time and gaps added up, by the groups that its times are in. */
#include "why/why_parts.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

s64 why_what(struct why *why, const char *what)
{
	return string_table_add(&why->whats, what, strlen(what));
}

s64 why_tally_name(struct why_tally *tally, const char *name)
{
	size_t place = ((uintptr_t)name / sizeof(void *)) % WHY_NAMES;
	s64 number;

	if (tally->names[place].name == name)
		return tally->names[place].number;
	number = why_what(tally->why, name);
	if (number < 0)
		return -ENOMEM;
	tally->names[place].name = name;
	tally->names[place].number = (u32)number;
	return number;
}

static u64 threads_of(const struct why_cause *cause)
{
	return (u64)(u32)cause->row_index << 32 | (u32)cause->waiter;
}

static u64 rest_of(const struct why_cause *cause)
{
	return (u64)cause->held << 32 | (u64)cause->group << 16 | (u64)cause->wait << 1 |
	       cause->is_long;
}

struct why_recent *why_recent_of(struct why_recent recent[WHY_RECENT],
				 const struct why_cause *cause, u64 what)
{
	u64 threads = threads_of(cause), rest = rest_of(cause);
	u64 mixed = (threads ^ rest << 20 ^ rest >> 44 ^ what << 8 ^ cause->sort) *
		    0x9e3779b97f4a7c15ULL;
	struct why_recent *slot = &recent[mixed >> 32 & (WHY_RECENT - 1)];

	if (slot->threads != threads || slot->rest != rest || slot->what != what ||
	    slot->gpu != cause->gpu || slot->sort != cause->sort)
		*slot = (struct why_recent){threads, rest, what, cause->gpu, cause->sort, 0};
	return slot;
}

s64 why_tally_pair(struct why_tally *tally, const struct why_cause *cause)
{
	u64 threads = threads_of(cause), rest = rest_of(cause);
	const u64 *known = map_find(&tally->pairs, threads, rest);
	u64 number = known ? *known : tally->pairs.count;

	if (!known && map_set(&tally->pairs, threads, rest, number))
		return -ENOMEM;
	return (s64)number;
}

static s64 pair_of_all_times(struct why_tally *tally, const struct why_cause *cause)
{
	struct why_cause all = *cause;

	all.group = WHY_ALL;
	return why_tally_pair(tally, &all);
}

static int add_to(struct map *sums, u64 first, u64 second, u64 more)
{
	u64 *sum = map_find(sums, first, second);

	if (sum)
		*sum += more;
	return sum ? 0 : map_set(sums, first, second, more);
}

int why_tally_add_at(struct why_tally *tally, const struct why_cause *cause, u32 at, u64 ns)
{
	s64 pair = pair_of_all_times(tally, cause);

	if (pair < 0 || add_to(&tally->waits_at, (u64)pair, 0, ns))
		return -ENOMEM;
	return at ? add_to(&tally->waits_at, (u64)pair, at, ns) : 0;
}

/* (pair, 0) -> the code where most of it is; of equal ones that which came first. */
static int find_most(const struct map *waits_at, struct map *ret_most)
{
	for (size_t i = 0; i < waits_at->capacity; i++) {
		const struct map_slot *slot = &waits_at->slots[i];
		const u64 *known, *most;

		if (!slot->used || !slot->key_b)
			continue;
		known = map_find(ret_most, slot->key_a, 0);
		most = known ? map_find(waits_at, slot->key_a, *known) : NULL;
		if (most && (*most > slot->value || (*most == slot->value && *known < slot->key_b)))
			continue;
		if (map_set(ret_most, slot->key_a, 0, slot->key_b))
			return -ENOMEM;
	}
	return 0;
}

int why_tally_settle_at(struct why_tally *tally)
{
	struct map most _cleanup_map_ = {0};

	if (find_most(&tally->waits_at, &most))
		return -ENOMEM;
	for (size_t i = 0; i < tally->why->count; i++) {
		struct why_cause *cause = &tally->why->causes[i];
		s64 pair = pair_of_all_times(tally, cause);
		const u64 *at = pair < 0 ? NULL : map_find(&most, (u64)pair, 0);

		if (pair < 0)
			return -ENOMEM;
		if (!at)
			continue;
		cause->at = (u32)*at;
		cause->at_share = (double)*map_find(&tally->waits_at, (u64)pair, *at) /
				  (double)*map_find(&tally->waits_at, (u64)pair, 0);
	}
	return 0;
}

/* Its place; -ENOMEM. */
static s64 place_of(struct why_tally *tally, const struct why_cause *cause, u32 what)
{
	struct why *why = tally->why;
	u64 key = (u64)cause->sort << 32 | cause->gpu;
	s64 pair = why_tally_pair(tally, cause);
	u64 whose = (u64)pair << 32 | what;
	const u64 *known = pair < 0 ? NULL : map_find(&tally->places, key, whose);
	struct why_cause *made;

	if (known || pair < 0)
		return known ? (s64)*known : pair;
	if (array_reserve(&why->causes, &why->capacity, why->count + 1) ||
	    array_reserve(&tally->last_gaps, &tally->capacity, why->count + 1) ||
	    map_set(&tally->places, key, whose, why->count))
		return -ENOMEM;
	made = &why->causes[why->count];
	*made = *cause;
	made->what = why->whats.strings[what];
	tally->last_gaps[why->count] = ~0ULL;
	return (s64)why->count++;
}

struct why_cause *why_tally_cause(struct why_tally *tally, const struct why_cause *cause, u32 what)
{
	struct why_recent *recent = why_recent_of(tally->recent, cause, what);

	if (!recent->place_plus_1) {
		s64 place = place_of(tally, cause, what);

		if (place < 0)
			return NULL;
		recent->place_plus_1 = (size_t)place + 1;
	}
	return &tally->why->causes[recent->place_plus_1 - 1];
}

/* Place of the first that ends behind a time. */
static size_t first_behind(const struct why_slices *slices, u64 ts)
{
	size_t low = 0, high = slices->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slices->items[middle].until_ns <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* place: as above, of since_ns. */
static u32 group_at(const struct why_slices *slices, size_t place, u64 since_ns, u64 *until_ns)
{
	const struct why_slice *slice;
	u64 end_ns;
	bool is_in;

	if (place == slices->count)
		return 0;
	slice = &slices->items[place];
	is_in = slice->since_ns <= since_ns;
	end_ns = is_in ? slice->until_ns : slice->since_ns;
	*until_ns = *until_ns < end_ns ? *until_ns : end_ns;
	return is_in ? slice->group : 0;
}

u32 why_slices_cut(const struct why_slices *slices, u64 since_ns, u64 *until_ns)
{
	return slices ? group_at(slices, first_behind(slices, since_ns), since_ns, until_ns) : 0;
}

u32 why_tally_cut(struct why_tally *tally, u64 since_ns, u64 *until_ns)
{
	const struct why_slices *slices = tally->slices;
	size_t place = tally->slice;

	if (!slices || !slices->count)
		return 0;
	if (since_ns < slices->items[place].since_ns || since_ns >= slices->items[place].until_ns)
		place = first_behind(slices, since_ns);
	tally->slice = place < slices->count ? place : 0;
	return group_at(slices, place, since_ns, until_ns);
}

u64 why_tally_held(const struct why_cause *cause, u64 since_ns, u64 until_ns)
{
	u64 end_ns = cause->held_until_ns < until_ns ? cause->held_until_ns : until_ns;

	return cause->held != WHY_NOT_HELD && end_ns > since_ns ? end_ns - since_ns : 0;
}

static int add_part(struct why_tally *tally, const struct why_cause *cause, u32 what, u64 gap,
		    u64 since_ns, u64 until_ns)
{
	struct why_cause *known = why_tally_cause(tally, cause, what);
	u64 *last_gap;

	if (!known)
		return -ENOMEM;
	last_gap = &tally->last_gaps[known - tally->why->causes];
	known->ns += until_ns - since_ns;
	known->held_ns += why_tally_held(cause, since_ns, until_ns);
	known->gaps += *last_gap != gap;
	*last_gap = gap;
	return 0;
}

int why_tally_add_groups(struct why_tally *tally, const struct why_cause *cause, u32 what, u64 gap,
			 u64 since_ns, u64 until_ns)
{
	while (tally->slices && since_ns < until_ns) {
		u64 end_ns = until_ns;
		struct why_cause part = *cause;

		part.group = why_tally_cut(tally, since_ns, &end_ns);
		if (part.group && add_part(tally, &part, what, gap, since_ns, end_ns))
			return -ENOMEM;
		since_ns = end_ns;
	}
	return 0;
}

int why_tally_add(struct why_tally *tally, const struct why_cause *cause, u32 what, u64 gap,
		  u64 since_ns, u64 until_ns)
{
	struct why_cause all = *cause;

	why_notes_add(tally->notes, cause, what, since_ns, until_ns);
	all.group = WHY_ALL;
	if (since_ns < until_ns && add_part(tally, &all, what, gap, since_ns, until_ns))
		return -ENOMEM;
	return why_tally_add_groups(tally, cause, what, gap, since_ns, until_ns);
}
