/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of steps around the median went, and what is longer in slow ones: causes of idle time, by where they are, and work of the
 * GPU, by its name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/explain_parts.h"

/* Below these nothing is said of steps, where they are fewer, or of slow ones, where they hardly differ. */
#define STEPS_LEAST  10
#define SLOWER_LEAST 1.1

enum group { GROUP_NONE, GROUP_TYPICAL, GROUP_SLOW };

struct explain_typical {
	struct why_slice *items;
	struct why_slices slices; /* of them */
	u64 counts[WHY_GROUPS], ns[WHY_GROUPS];
};

/* From twice the median on, of fewer than p95 has: these are spikes, where they take that much of all steps. */
#define SPIKE_TIMES	 2
#define SPIKES_MUCH_PART 20 /* a twentieth */

/* From how long on a step is a spike; ~0: there is none, or they take little. */
static u64 spikes_from(const u64 *times, size_t count)
{
	u64 median_ns = explain_steps_quantile(times, count, 1, 2), more_ns = 0, all_ns = 0;

	for (size_t i = 0; i < count; i++) {
		all_ns += times[i];
		if (times[i] >= SPIKE_TIMES * median_ns)
			more_ns += times[i] - median_ns;
	}
	return more_ns * SPIKES_MUCH_PART >= all_ns ? SPIKE_TIMES * median_ns : ~0ULL;
}

/* Slow: from p95 on, or spikes, where these are fewer; none where they hardly differ. */
static u64 slow_from(const u64 *times, size_t count)
{
	u64 median_ns = explain_steps_quantile(times, count, 1, 2);
	u64 high = explain_steps_quantile(times, count, 3, 4);
	u64 slow = explain_steps_quantile(times, count, 19, 20);
	u64 spike = spikes_from(times, count);

	if (spike != ~0ULL && spike > slow)
		return spike;
	return (double)slow >= SLOWER_LEAST * (double)median_ns && slow > high ? slow : ~0ULL;
}

/* Typical is the middle half. */
static void choose(const struct view_step_track *track, size_t count, const u64 *times,
		   struct explain_typical *typical)
{
	struct why_slices *slices = &typical->slices;
	u64 low = explain_steps_quantile(times, count, 1, 4),
	    high = explain_steps_quantile(times, count, 3, 4);
	u64 slow = slow_from(times, count);

	slices->items = typical->items;
	for (size_t i = 0; i < count; i++) {
		const struct view_step *step = &track->steps[i];
		u64 ns = step->end_ns - step->start_ns;
		u32 group = ns >= slow		      ? GROUP_SLOW
			    : ns >= low && ns <= high ? GROUP_TYPICAL
						      : GROUP_NONE;

		if (!group)
			continue;
		typical->items[slices->count++] =
			(struct why_slice){step->start_ns, step->end_ns, group};
		typical->counts[group]++;
		typical->ns[group] += ns;
	}
}

static u64 mean(u64 sum, u64 count)
{
	return count ? sum / count : 0;
}

/* Its time, of one GPU and step of the group. */
static void add_time(struct explain_slow *slow, unsigned part, u32 group, double ns)
{
	if (group == GROUP_SLOW)
		slow->parts[part].slow_ns += ns / (double)slow->count;
	else if (group == GROUP_TYPICAL)
		slow->parts[part].typical_ns += ns / (double)slow->typical_count;
}

static struct explain_places *places_of(struct explain_slow_part *part, u32 group)
{
	return group == GROUP_SLOW ? &part->slow_places : &part->typical_places;
}

static int add_cause(const struct explain *explain, const struct why *why,
		     const struct why_cause *cause, double gpus, struct explain_slow *slow)
{
	struct explain_share shares[EXPLAIN_SHARES_MAX] = {{.ns = cause->ns, .gaps = cause->gaps}};
	bool is_known = why_is_known(cause->sort);
	size_t count = is_known ? explain_cause_shares(why, cause, shares) : 1;

	for (size_t i = 0; i < count; i++) {
		unsigned part = is_known ? explain->final[shares[i].finding] : EXPLAIN_SLOW_UNKNOWN;

		add_time(slow, part, cause->group, (double)shares[i].ns / gpus);
		if (explain_share_place_add(explain, why, cause, &shares[i],
					    places_of(&slow->parts[part], cause->group)))
			return -ENOMEM;
	}
	return 0;
}

static int add_causes(const struct explain *explain, const struct why *why,
		      struct explain_slow *slow)
{
	double gpus = (double)(why->gpu_count ?: 1);

	for (size_t i = 0; i < why->gpu_count; i++)
		for (u32 group = 1; group < WHY_GROUPS; group++)
			add_time(slow, EXPLAIN_SLOW_BUSY, group,
				 (double)why->gpus[i].group_busy_ns[group] / gpus);
	for (size_t i = 0; i < why->grouped_count; i++)
		if (add_cause(explain, why, &why->grouped[i], gpus, slow))
			return -ENOMEM;
	return 0;
}

/* ---- work of the GPU ---- */

/* What is in several steps has its part in each. */
static int run_work(void *data, const struct view_event *event, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	struct explain *explain = data;
	struct explain_slow_part *part = &explain->slow.parts[EXPLAIN_SLOW_BUSY];
	u64 since_ns = event->ts;

	if (!view_row_is_of(work, event->kind->number))
		return 0;
	while (since_ns < event->end) {
		u64 until_ns = event->end;
		u32 group = why_slices_cut(&explain->typical->slices, since_ns, &until_ns);

		if (group && explain_places_add_kept(places_of(part, group), event->name,
						     until_ns - since_ns, since_ns == event->ts))
			return explain_no_memory(err);
		since_ns = until_ns;
	}
	return 0;
}

struct view_part explain_slow_work_part(struct explain *explain)
{
	static const struct view_sink sink = {.span = run_work};

	return (struct view_part){explain->slow.count ? &sink : NULL, explain};
}

static void forget_work(struct explain_slow_part *part)
{
	explain_places_free(&part->slow_places);
	explain_places_free(&part->typical_places);
	part->slow_places = part->typical_places = (struct explain_places){0};
}

/* ---- both ---- */

static int choose_steps(struct explain *explain, const struct view_step_track *track, size_t count)
{
	struct explain_typical *typical = explain->typical;
	u64 *times = explain_steps_times(track, count);

	if (!times)
		return -ENOMEM;
	choose(track, count, times, typical);
	explain->slow.are_spikes = slow_from(times, count) == spikes_from(times, count);
	free(times);
	explain->slow.count = typical->counts[GROUP_SLOW];
	explain->slow.mean_ns = mean(typical->ns[GROUP_SLOW], explain->slow.count);
	explain->slow.typical_count = typical->counts[GROUP_TYPICAL];
	explain->slow.typical_mean_ns =
		mean(typical->ns[GROUP_TYPICAL], explain->slow.typical_count);
	return 0;
}

int explain_slow_choose(struct explain *explain, struct err *err)
{
	size_t count = 0;
	const struct view_step_track *track = explain_steps_main(explain, &count);

	if (explain->brief || !explain->has_gpu || count < STEPS_LEAST ||
	    !track->steps[0].gpu_recorded)
		return 0;
	explain->typical = calloc(1, sizeof(*explain->typical));
	if (explain->typical)
		explain->typical->items = calloc(count, sizeof(*explain->typical->items));
	return explain->typical && explain->typical->items && !choose_steps(explain, track, count)
		       ? 0
		       : explain_no_memory(err);
}

const struct why_slices *explain_slow_slices(const struct explain *explain)
{
	return explain->typical ? &explain->typical->slices : NULL;
}

int explain_slow_end(struct explain *explain, struct err *err)
{
	struct explain_slow *slow = &explain->slow;
	struct explain_slow_part *busy = &slow->parts[EXPLAIN_SLOW_BUSY];

	if (!explain->typical)
		return 0;
	if (add_causes(explain, &explain->why, slow))
		return explain_no_memory(err);
	if (busy->slow_ns <= busy->typical_ns)
		forget_work(busy);
	return 0;
}

const char *explain_slow_tag(unsigned part)
{
	if (part == EXPLAIN_SLOW_BUSY)
		return "gpu_busy";
	return part == EXPLAIN_SLOW_UNKNOWN ? "not_known" : explain_finding_tag(part);
}

const char *explain_slow_title(unsigned part)
{
	if (part == EXPLAIN_SLOW_BUSY)
		return "the GPU is busy";
	return part == EXPLAIN_SLOW_UNKNOWN ? "not known" : explain_finding_title(part);
}

static double longer_ns(const struct explain_slow *slow, unsigned part)
{
	return slow->parts[part].slow_ns - slow->parts[part].typical_ns;
}

static double typical_ns(const struct explain_slow *slow, unsigned part)
{
	return slow->parts[part].typical_ns;
}

/* The longest first. */
static size_t sort_parts(const struct explain_slow *slow,
			 double (*ns_of)(const struct explain_slow *slow, unsigned part),
			 unsigned ret_parts[EXPLAIN_SLOW_PARTS])
{
	size_t count = 0;

	for (unsigned part = 0; part < EXPLAIN_SLOW_PARTS; part++) {
		size_t place = count;

		if (slow->parts[part].slow_ns == 0 && slow->parts[part].typical_ns == 0)
			continue;
		for (; place && ns_of(slow, ret_parts[place - 1]) < ns_of(slow, part); place--)
			ret_parts[place] = ret_parts[place - 1];
		ret_parts[place] = part;
		count++;
	}
	return count;
}

size_t explain_slow_sort(const struct explain_slow *slow, unsigned ret_parts[EXPLAIN_SLOW_PARTS])
{
	return sort_parts(slow, longer_ns, ret_parts);
}

size_t explain_typical_sort(const struct explain_slow *slow, unsigned ret_parts[EXPLAIN_SLOW_PARTS])
{
	return sort_parts(slow, typical_ns, ret_parts);
}

const struct explain_place *explain_slow_place(const struct explain_slow *slow, unsigned part)
{
	const struct explain_places *places = &slow->parts[part].slow_places;
	const struct explain_places *typical = &slow->parts[part].typical_places;
	const struct explain_place *most = NULL;
	double most_ns = 0;

	for (size_t i = 0; i < places->names.count; i++) {
		const char *name = places->items[i].name;
		s64 known = string_table_find(&typical->names, name, strlen(name));
		double ns = (double)places->items[i].ns / (double)slow->count;

		if (known >= 0)
			ns -= (double)typical->items[known].ns / (double)slow->typical_count;
		if (ns > most_ns || (ns == most_ns && most && strcmp(name, most->name) < 0)) {
			most = &places->items[i];
			most_ns = ns;
		}
	}
	return most;
}

void explain_slow_free(struct explain *explain)
{
	for (size_t i = 0; i < EXPLAIN_SLOW_PARTS; i++) {
		explain_places_free(&explain->slow.parts[i].slow_places);
		explain_places_free(&explain->slow.parts[i].typical_places);
	}
	if (explain->typical)
		free(explain->typical->items);
	free(explain->typical);
}
