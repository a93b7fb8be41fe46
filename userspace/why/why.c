/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "why/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "why/why_parts.h"

static const struct {
	const char *words, *seen;
} sorts[WHY_SORTS] = {
#define SORT(name, words, seen) [WHY_##name] = {words, seen},
#include "why/why_sorts.def"
};

bool why_is_known(enum why_sort sort)
{
	return sort < WHY_FIRST;
}

const char *why_words(enum why_sort sort)
{
	return sorts[sort].words;
}

const char *why_seen(enum why_sort sort)
{
	return sorts[sort].seen;
}

s64 why_what(struct why *why, const char *what)
{
	return string_table_add(&why->whats, what, strlen(what));
}

s64 why_tally_pair(struct why_tally *tally, const struct why_cause *cause)
{
	u64 threads = (u64)(u32)cause->row_index << 32 | (u32)cause->waiter;
	u64 rest = (u64)cause->held << 32 | (u64)cause->group << 16 | (u64)cause->wait << 1 |
		   cause->is_long;
	const u64 *known = map_find(&tally->pairs, threads, rest);
	u64 number = known ? *known : tally->pairs.count;

	if (!known && map_set(&tally->pairs, threads, rest, number))
		return -ENOMEM;
	return (s64)number;
}

struct why_cause *why_tally_cause(struct why_tally *tally, const struct why_cause *cause, u32 what)
{
	struct why *why = tally->why;
	u64 key = (u64)cause->sort << 32 | cause->gpu;
	s64 pair = why_tally_pair(tally, cause);
	u64 whose = (u64)pair << 32 | what;
	const u64 *known = pair < 0 ? NULL : map_find(&tally->places, key, whose);
	struct why_cause *made;

	if (pair < 0)
		return NULL;
	if (known)
		return &why->causes[*known];
	if (array_reserve(&why->causes, &why->capacity, why->count + 1) ||
	    array_reserve(&tally->last_gaps, &tally->capacity, why->count + 1) ||
	    map_set(&tally->places, key, whose, why->count))
		return NULL;
	made = &why->causes[why->count];
	*made = *cause;
	made->what = why->whats.strings[what];
	tally->last_gaps[why->count++] = ~0ULL;
	return made;
}

u32 why_slices_cut(const struct why_slices *slices, u64 since_ns, u64 *until_ns)
{
	size_t low = 0, high = slices ? slices->count : 0;
	const struct why_slice *slice;

	/* The first that ends behind it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slices->items[middle].until_ns <= since_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!slices || low == slices->count)
		return 0;
	slice = &slices->items[low];
	if (slice->since_ns > since_ns) {
		*until_ns = *until_ns < slice->since_ns ? *until_ns : slice->since_ns;
		return 0;
	}
	*until_ns = *until_ns < slice->until_ns ? *until_ns : slice->until_ns;
	return slice->group;
}

static int add_part(struct why_tally *tally, const struct why_cause *cause, u32 what, u64 gap,
		    u64 ns)
{
	struct why_cause *known = why_tally_cause(tally, cause, what);
	u64 *last_gap;

	if (!known)
		return -ENOMEM;
	last_gap = &tally->last_gaps[known - tally->why->causes];
	known->ns += ns;
	known->gaps += *last_gap != gap;
	*last_gap = gap;
	return 0;
}

int why_tally_add(struct why_tally *tally, const struct why_cause *cause, u32 what, u64 gap,
		  u64 since_ns, u64 until_ns)
{
	while (since_ns < until_ns) {
		u64 end_ns = until_ns;
		struct why_cause part = *cause;

		part.group = why_slices_cut(tally->slices, since_ns, &end_ns);
		if (add_part(tally, &part, what, gap, end_ns - since_ns))
			return -ENOMEM;
		since_ns = end_ns;
	}
	return 0;
}

/* By all that the report gpu_why shows of them. */
static int compare_shown(const struct why_cause *left, const struct why_cause *right)
{
	if (left->gpu != right->gpu)
		return left->gpu < right->gpu ? -1 : 1;
	if (left->sort != right->sort)
		return left->sort < right->sort ? -1 : 1;
	if (left->row_index != right->row_index)
		return left->row_index < right->row_index ? -1 : 1;
	if (left->waiter != right->waiter)
		return left->waiter < right->waiter ? -1 : 1;
	return strcmp(left->what, right->what);
}

static int compare_causes(const void *a, const void *b)
{
	const struct why_cause *left = a, *right = b;
	int shown;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	shown = compare_shown(left, right);
	if (shown)
		return shown;
	if (left->wait != right->wait)
		return left->wait < right->wait ? -1 : 1;
	if (left->held != right->held)
		return left->held < right->held ? -1 : 1;
	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	return left->is_long - right->is_long;
}

static int compare_to_merge(const void *a, const void *b)
{
	return compare_shown(a, b);
}

void why_merge(struct why *why)
{
	size_t count = 0;

	if (!why->count)
		return;
	qsort(why->causes, why->count, sizeof(*why->causes), compare_to_merge);
	for (size_t i = 0; i < why->count; i++) {
		struct why_cause *cause = &why->causes[i], *last = &why->causes[count - 1];

		if (count && !compare_shown(last, cause)) {
			last->ns += cause->ns;
			last->gaps += cause->gaps;
		} else {
			why->causes[count++] = *cause;
		}
	}
	why->count = count;
	qsort(why->causes, why->count, sizeof(*why->causes), compare_causes);
}

int why_make(struct view *view, const struct why_slices *slices, struct why *ret_why,
	     struct err *err)
{
	struct why_tally tally = {.why = ret_why, .slices = slices};
	struct why_gaps gaps = {.store = SPOOL_STORE_INIT};
	int result;

	*ret_why = (struct why){0};
	result = why_gaps_find(view, &tally, &gaps, err);
	if (result == 0)
		result = why_threads_ask(view, &tally, &gaps, err);
	why_gaps_free(&gaps, ret_why->gpu_count);
	map_free(&tally.pairs);
	map_free(&tally.places);
	free(tally.last_gaps);
	if (result == 0 && ret_why->count)
		qsort(ret_why->causes, ret_why->count, sizeof(*ret_why->causes), compare_causes);
	return result;
}

void why_free(struct why *why)
{
	free(why->causes);
	free(why->gpus);
	string_table_free(&why->whats);
	*why = (struct why){0};
}
