/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps/step_period.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* About the same amount: within a tenth. */
#define TOLERANCE	  10
#define EXCEPTIONS_ONE_IN 32
#define GRAPHS		  (~0ULL / 2)
#define PERIODS_SURE	  8
#define COVERED_PERCENT \
	75 /* of the work between first and last occurrence: in periods of the usual amount */
#define SPANNED_PERCENT 50 /* of all work: between first and last occurrence */
#define HOST_PERCENT	90 /* of the periods: the host takes part */

/* How far the thread had come: differences between two of them are what happened in between. */
struct progress {
	u64 work;  /* pieces of GPU work */
	u64 mixed; /* sum of hashes of what they are: equal for the same pieces in any order; graphs are all the same, since
		    * programs have one for each size of their input */
	u64 host;
};

struct candidate {
	u64 count;
	u64 gap_ns; /* sum of the times for which the thread had paused before it */
	struct progress first, last;
	/* of the periods: */
	u64 usual, votes;	  /* amount of work that most have */
	u64 pieces, pieces_votes; /* the same of what pieces it is */
	u64 same_count, same_work, exact_count, host_count;
};

static u64 hash(u64 number)
{
	number = (number + 1) * 0x9e3779b97f4a7c15ULL;
	number = (number ^ number >> 29) * 0xbf58476d1ce4e5b9ULL;
	return number ^ number >> 32;
}

static bool is_root(enum step_item_type type)
{
	return type == STEP_ITEM_KERNEL || type == STEP_ITEM_OPTIMIZER || type == STEP_ITEM_GRAPH;
}

static void advance(struct progress *progress, const struct step_item *item,
		    enum step_item_type type)
{
	if (type == STEP_ITEM_HOST || type == STEP_ITEM_INPUT) {
		progress->host++;
	} else if (type != STEP_ITEM_OPTIMIZER && type != STEP_ITEM_OTHER) {
		progress->work++;
		progress->mixed += hash(type == STEP_ITEM_GRAPH ? GRAPHS : item->name);
	}
}

static bool about_same(u64 a, u64 b)
{
	u64 difference = a > b ? a - b : b - a;

	return difference <= (a > b ? a : b) / TOLERANCE;
}

/* What most periods have, if most have one thing, is left over when each that has another takes one of them away. */
static void vote(u64 *usual, u64 *votes, u64 value, bool same)
{
	if (!*votes) {
		*usual = value;
		same = true;
	}
	*votes += same ? 1 : -1;
}

static void vote_for(struct candidate *candidate, const struct progress *now)
{
	u64 work = now->work - candidate->last.work, pieces = now->mixed - candidate->last.mixed;

	vote(&candidate->usual, &candidate->votes, work, about_same(candidate->usual, work));
	vote(&candidate->pieces, &candidate->pieces_votes, pieces, candidate->pieces == pieces);
}

static void measure(struct candidate *candidate, const struct progress *now)
{
	u64 work = now->work - candidate->last.work;

	if (about_same(candidate->usual, work)) {
		candidate->same_count++;
		candidate->same_work += work;
	}
	candidate->exact_count += candidate->pieces == now->mixed - candidate->last.mixed;
	candidate->host_count += now->host != candidate->last.host;
}

/* One time through the sequence: at first what is usual is found, then how many are like that. */
static struct progress go_through(const struct step_sequence *sequence,
				  struct candidate *candidates, bool measuring)
{
	struct progress progress = {0};
	u64 before_ns = 0;

	for (size_t i = 0; i < sequence->count; i++) {
		const struct step_item *item = step_sequence_at(sequence, i);
		struct candidate *candidate = &candidates[item->name];
		enum step_item_type type = sequence->types[item->name];

		if (is_root(type)) {
			if (candidate->count && measuring)
				measure(candidate, &progress);
			else if (candidate->count)
				vote_for(candidate, &progress);
			else
				candidate->first = progress;
			candidate->gap_ns += i ? item->ts_ns - before_ns : 0;
			candidate->last = progress;
			candidate->count++;
		}
		before_ns = item->ts_ns;
		advance(&progress, item, type);
	}
	return progress;
}

static void begin_measuring(struct candidate *candidates, size_t count)
{
	for (size_t i = 0; i < count; i++)
		candidates[i] = (struct candidate){.usual = candidates[i].usual,
						   .pieces = candidates[i].pieces};
}

/* Among hundreds of kernels that come a few times without any order, some do so at about equal distances. */
static bool by_chance(const struct candidate *candidate, enum step_item_type type)
{
	u64 periods = candidate->count - 1;

	if (type != STEP_ITEM_KERNEL && periods >= PERIODS_SURE)
		return false;
	return candidate->exact_count * 2 < periods;
}

static bool judge(const struct candidate *candidate, enum step_item_type type, u64 all_work)
{
	u64 periods = candidate->count - 1, spanned = candidate->last.work - candidate->first.work;
	u64 exceptions = periods - candidate->same_count;

	if (candidate->count < STEP_PERIODS_MIN + 1 || !candidate->usual ||
	    by_chance(candidate, type))
		return false;
	if (exceptions > periods / EXCEPTIONS_ONE_IN + (periods >= PERIODS_SURE))
		return false;
	if (candidate->same_work < spanned * COVERED_PERCENT / 100 ||
	    spanned < all_work * SPANNED_PERCENT / 100)
		return false;
	return candidate->host_count >= (periods * HOST_PERCENT + 99) / 100 ||
	       (candidate->exact_count == periods &&
		(candidate->usual > 1 || type == STEP_ITEM_GRAPH));
}

/* The first and the last period are cut, so that roots of the same period may differ by one. */
static bool better(const struct candidate *a, enum step_item_type a_type, const struct candidate *b,
		   enum step_item_type b_type)
{
	if (a->count > b->count + 1 || b->count > a->count + 1)
		return a->count > b->count;
	if (a_type != b_type)
		return (a_type == STEP_ITEM_GRAPH) > (b_type == STEP_ITEM_GRAPH) ||
		       (b_type == STEP_ITEM_KERNEL && a_type == STEP_ITEM_OPTIMIZER);
	return a->gap_ns / a->count > b->gap_ns / b->count;
}

int step_period_find(const struct step_sequence *sequence, size_t name_count, u32 *ret_root)
{
	_cleanup_free_ struct candidate *candidates = calloc(name_count + 1, sizeof(*candidates));
	const enum step_item_type *types = sequence->types;
	const struct candidate *best = NULL;
	struct progress all;

	if (!candidates)
		return -ENOMEM;
	go_through(sequence, candidates, false);
	begin_measuring(candidates, name_count);
	all = go_through(sequence, candidates, true);
	for (size_t i = 0; i < name_count; i++) {
		if (!candidates[i].count || !judge(&candidates[i], types[i], all.work))
			continue;
		if (!best || better(&candidates[i], types[i], best, types[best - candidates]))
			best = &candidates[i];
	}
	if (!best)
		return -ENOENT;
	*ret_root = best - candidates;
	return 0;
}
