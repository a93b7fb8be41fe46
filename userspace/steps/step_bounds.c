/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps/step_bounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define TAKES_PERCENT  90 /* of the periods: the host takes something before the root */
#define CLEARLY(pause) ((pause) + (pause) / 2)
#define PAUSE_PERCENT \
	10 /* of all time: a pause; shorter ones are how long calls take to follow one another */
#define BEFORE_MAX 4096 /* items before a root that are looked at */

static enum step_item_type type_at(const struct step_sequence *sequence, size_t place)
{
	return sequence->types[step_sequence_at(sequence, place)->name];
}

static bool is_work(enum step_item_type type)
{
	return type == STEP_ITEM_KERNEL || type == STEP_ITEM_GRAPH || type == STEP_ITEM_OTHER;
}

/* ---- how many items before its root a step begins ---- */

/* Behind the last thing that the host takes. False: it takes nothing between the roots. */
static bool behind_taking(const struct step_sequence *sequence, size_t before, size_t root,
			  size_t *ret_distance)
{
	for (size_t place = root; place > before + 1; place--)
		if (type_at(sequence, place - 1) == STEP_ITEM_HOST) {
			*ret_distance = root - place;
			return true;
		}
	*ret_distance = 0;
	return false;
}

/* Of each root but the first; false: too seldom. */
static bool find_takings(const struct step_sequence *sequence, const size_t *roots, size_t count,
			 size_t *distances)
{
	size_t takings = 0;

	for (size_t i = 1; i < count; i++)
		takings += behind_taking(sequence, roots[i - 1], roots[i], &distances[i]);
	return takings * 100 >= (count - 1) * TAKES_PERCENT;
}

/* How long the thread did nothing of its own before this item: what it waits in calls is none of it. */
static u64 pause_before(const struct step_sequence *sequence, size_t place)
{
	u64 end_ns = step_sequence_at(sequence, place - 1)->end_ns;
	u64 ts_ns = step_sequence_at(sequence, place)->ts_ns;

	return ts_ns > end_ns ? ts_ns - end_ns : 0;
}

/* The length that more than half of the periods have; 0: there is none. The last candidate that votes leave is the only one there can
 * be (Boyer and Moore), but of lengths that are all different it is any. */
static size_t usual_length(const size_t *roots, size_t count)
{
	size_t usual = 0, votes = 0, periods = 0;

	for (size_t i = 1; i < count; i++) {
		size_t length = roots[i] - roots[i - 1];

		if (!votes)
			usual = length;
		votes += usual == length ? 1 : -1;
	}
	for (size_t i = 1; i < count; i++)
		periods += roots[i] - roots[i - 1] == usual;
	if (periods * 2 <= count - 1)
		return 0;
	return usual < BEFORE_MAX ? usual : BEFORE_MAX;
}

/* Over all periods that have as many items before their roots, for each such number. */
static void sum_pauses(const struct step_sequence *sequence, const size_t *roots, size_t count,
		       size_t length, u64 *sums_ns)
{
	for (size_t i = 1; i < count; i++) {
		size_t period = roots[i] - roots[i - 1];

		for (size_t distance = 0; distance < length && distance < period; distance++)
			sums_ns[distance] += pause_before(sequence, roots[i] - distance);
	}
}

static size_t find_pause(const struct step_sequence *sequence, const size_t *roots, size_t count,
			 u64 *ret_ns)
{
	size_t length = usual_length(roots, count), best = 0;
	u64 sums_ns[BEFORE_MAX] = {0};

	*ret_ns = 0;
	sum_pauses(sequence, roots, count, length, sums_ns);
	for (size_t distance = 0; distance < length; distance++) {
		if (sums_ns[distance] <= *ret_ns)
			continue;
		*ret_ns = sums_ns[distance];
		best = distance;
	}
	return best;
}

static void find_distances(const struct step_sequence *sequence, const size_t *roots, size_t count,
			   size_t *distances)
{
	u64 other_ns = 0, pause_ns, all_ns;
	size_t distance;
	bool is_pause;

	if (count < 2 || type_at(sequence, roots[0]) != STEP_ITEM_GRAPH)
		return;
	if (!find_takings(sequence, roots, count, distances))
		memset(distances, 0, count * sizeof(*distances));
	for (size_t i = 1; i < count; i++)
		other_ns += pause_before(sequence, roots[i] - distances[i]);
	distance = find_pause(sequence, roots, count, &pause_ns);
	all_ns = step_sequence_at(sequence, roots[count - 1])->ts_ns;
	all_ns -= step_sequence_at(sequence, roots[0])->ts_ns;
	is_pause = pause_ns > CLEARLY(other_ns) && pause_ns / PAUSE_PERCENT > all_ns / 100;
	for (size_t i = 1; i < count && is_pause; i++)
		distances[i] = distance < roots[i] - roots[i - 1] ? distance : 0;
	/* What was before it in the window may be less. */
	distances[0] = distances[1];
}

/* ---- where the last one ends ---- */

static bool is_alike(const struct step_sequence *sequence, size_t a, size_t b)
{
	u32 name = step_sequence_at(sequence, a)->name;

	return name == step_sequence_at(sequence, b)->name ||
	       (is_work(sequence->types[name]) && is_work(type_at(sequence, b)));
}

/* root_before up to, not with, begin: what came in the step before from its root on. */
static u64 find_end(const struct step_sequence *sequence, size_t root_before, size_t begin,
		    size_t root)
{
	size_t place = 1;
	u64 end_ns = step_sequence_at(sequence, root)->end_ns;

	for (; root_before + place < begin && root + place < sequence->count; place++) {
		u64 item_end_ns = step_sequence_at(sequence, root + place)->end_ns;

		if (!is_alike(sequence, root_before + place, root + place))
			break;
		if (item_end_ns > end_ns)
			end_ns = item_end_ns;
	}
	for (; root_before + place < begin; place++)
		if (is_work(type_at(sequence, root_before + place)))
			return 0;
	return end_ns;
}

int step_bounds_find(const struct step_sequence *sequence, u32 root, struct step_bounds *ret_bounds)
{
	size_t count = sequence->count, root_count = 0;
	_cleanup_free_ size_t *roots = calloc(count + 1, sizeof(*roots));
	_cleanup_free_ size_t *distances = calloc(count + 1, sizeof(*distances));
	struct step_bounds bounds = {.begins = calloc(count + 1, sizeof(*bounds.begins))};

	if (!roots || !distances || !bounds.begins) {
		free(bounds.begins);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		if (step_sequence_at(sequence, i)->name == root)
			roots[root_count++] = i;
	find_distances(sequence, roots, root_count, distances);
	for (size_t i = 0; i < root_count; i++)
		if (roots[i] >= distances[i])
			bounds.begins[bounds.count++] = roots[i] - distances[i];
	if (root_count >= 2 && bounds.count >= 2)
		bounds.last_end_ns =
			find_end(sequence, roots[root_count - 2], bounds.begins[bounds.count - 1],
				 roots[root_count - 1]);
	*ret_bounds = bounds;
	return 0;
}
