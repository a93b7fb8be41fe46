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

struct choice {
	struct why_slice *slices;
	u64 counts[WHY_GROUPS], ns[WHY_GROUPS];
};

/* Slow: from p95 on, none where they hardly differ; typical: the middle half. */
static void choose(const struct view_step_track *track, size_t count, const u64 *times,
		   struct choice *choice, struct why_slices *ret_slices)
{
	u64 low = explain_steps_quantile(times, count, 1, 4),
	    high = explain_steps_quantile(times, count, 3, 4);
	u64 slow = explain_steps_quantile(times, count, 19, 20);
	bool differ =
		(double)slow >= SLOWER_LEAST * (double)explain_steps_quantile(times, count, 1, 2) &&
		slow > high;

	*ret_slices = (struct why_slices){.items = choice->slices};
	for (size_t i = 0; i < count; i++) {
		const struct view_step *step = &track->steps[i];
		u64 ns = step->end_ns - step->start_ns;
		u32 group = differ && ns >= slow      ? GROUP_SLOW
			    : ns >= low && ns <= high ? GROUP_TYPICAL
						      : GROUP_NONE;

		if (!group)
			continue;
		choice->slices[ret_slices->count++] =
			(struct why_slice){step->start_ns, step->end_ns, group};
		choice->counts[group]++;
		choice->ns[group] += ns;
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

static int add_causes(const struct explain *explain, const struct why *why,
		      struct explain_slow *slow)
{
	double gpus = (double)(why->gpu_count ?: 1);

	for (size_t i = 0; i < why->gpu_count; i++)
		for (u32 group = 1; group < WHY_GROUPS; group++)
			add_time(slow, EXPLAIN_SLOW_BUSY, group,
				 (double)why->gpus[i].group_busy_ns[group] / gpus);
	for (size_t i = 0; i < why->count; i++) {
		const struct why_cause *cause = &why->causes[i];
		unsigned part = why_is_known(cause->sort)
					? explain->final[explain_finding_of_cause(why, cause)]
					: EXPLAIN_SLOW_UNKNOWN;

		add_time(slow, part, cause->group, (double)cause->ns / gpus);
		if (cause->group &&
		    explain_cause_place_add(explain, why, cause,
					    places_of(&slow->parts[part], cause->group)))
			return -ENOMEM;
	}
	return 0;
}

/* ---- work of the GPU ---- */

struct work_run {
	struct explain_slow_part *part;
	const struct why_slices *slices;
};

/* What is in several steps has its part in each. */
static int run_work(void *data, const struct view_event *event, struct err *err)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	const struct work_run *run = data;
	u64 since_ns = event->ts;

	if (!view_row_is_of(work, event->kind->number))
		return 0;
	while (since_ns < event->end) {
		u64 until_ns = event->end;
		u32 group = why_slices_cut(run->slices, since_ns, &until_ns);

		if (group && explain_places_add(places_of(run->part, group), event->name,
						until_ns - since_ns, since_ns == event->ts))
			return err_errno(err, -ENOMEM, "can't explain the capture");
		since_ns = until_ns;
	}
	return 0;
}

/* One more run over the view, where the GPU is busy for longer. */
static int add_work(struct explain *explain, const struct why_slices *slices, struct err *err)
{
	const struct view_sink sink = {.span = run_work};
	struct work_run run = {&explain->slow.parts[EXPLAIN_SLOW_BUSY], slices};

	if (run.part->slow_ns <= run.part->typical_ns)
		return 0;
	return view_run(explain->view, &sink, &run, err);
}

/* ---- both ---- */

static int compare(struct explain *explain, const struct view_step_track *track, size_t count,
		   struct choice *choice, struct err *err)
{
	u64 *times = explain_steps_times(track, count);
	struct why_slices slices;
	struct why why = {0};
	int result;

	if (!times)
		return err_errno(err, -ENOMEM, "can't explain the capture");
	choose(track, count, times, choice, &slices);
	explain->slow.count = choice->counts[GROUP_SLOW];
	explain->slow.mean_ns = mean(choice->ns[GROUP_SLOW], explain->slow.count);
	explain->slow.typical_count = choice->counts[GROUP_TYPICAL];
	explain->slow.typical_mean_ns =
		mean(choice->ns[GROUP_TYPICAL], explain->slow.typical_count);
	result = why_make(explain->view, &slices, NULL, &why, err);
	if (result == 0 && add_causes(explain, &why, &explain->slow))
		result = err_errno(err, -ENOMEM, "can't explain the capture");
	if (result == 0)
		result = add_work(explain, &slices, err);
	why_free(&why);
	free(times);
	return result;
}

int explain_slow_add(struct explain *explain, struct err *err)
{
	size_t count = 0;
	const struct view_step_track *track = explain_steps_main(explain, &count);
	struct choice choice = {0};
	int result;

	if (!explain->has_gpu || count < STEPS_LEAST || !track->steps[0].gpu_recorded)
		return 0;
	choice.slices = calloc(count, sizeof(*choice.slices));
	result = choice.slices ? compare(explain, track, count, &choice, err)
			       : err_errno(err, -ENOMEM, "can't explain the capture");
	free(choice.slices);
	return result;
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

const char *explain_slow_place(const struct explain_slow *slow, unsigned part)
{
	const struct explain_places *places = &slow->parts[part].slow_places;
	const struct explain_places *typical = &slow->parts[part].typical_places;
	const char *most = NULL;
	double most_ns = 0;

	for (size_t i = 0; i < places->names.count; i++) {
		const char *name = places->items[i].name;
		s64 known = string_table_find(&typical->names, name, strlen(name));
		double ns = (double)places->items[i].ns / (double)slow->count;

		if (known >= 0)
			ns -= (double)typical->items[known].ns / (double)slow->typical_count;
		if (ns > most_ns || (ns == most_ns && most && strcmp(name, most) < 0)) {
			most = name;
			most_ns = ns;
		}
	}
	return most;
}

void explain_slow_free(struct explain_slow *slow)
{
	for (size_t i = 0; i < EXPLAIN_SLOW_PARTS; i++) {
		explain_places_free(&slow->parts[i].slow_places);
		explain_places_free(&slow->parts[i].typical_places);
	}
}
