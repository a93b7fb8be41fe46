/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps of the main track: how long they are, and what is longer in the slow ones. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "explain/explain_parts.h"

/* Below these nothing is said of slow ones: of fewer, and where they hardly differ. */
#define STEPS_LEAST  10
#define SLOWER_LEAST 1.1

enum group { GROUP_NONE, GROUP_TYPICAL, GROUP_SLOW };

static int compare_times(const void *a, const void *b)
{
	return array_compare_u64(a, b);
}

static u64 length_of(const struct view_step *step)
{
	return step->end_ns - step->start_ns;
}

/* Of those whose work was recorded; all, where it was of none. */
static size_t recorded_count(const struct view_step_track *track)
{
	size_t count = 0;

	while (count < track->count &&
	       (!track->steps[0].gpu_recorded || track->steps[count].gpu_recorded))
		count++;
	return count;
}

/* NULL: there are no steps. */
static const struct view_step_track *main_track(const struct explain *explain)
{
	if (!explain->steps || !explain->steps->track_count || !explain->steps->tracks[0].count)
		return NULL;
	return &explain->steps->tracks[0];
}

/* Of the track, sorted; NULL: no memory. */
static u64 *times_of(const struct view_step_track *track, size_t count)
{
	u64 *times = calloc(count, sizeof(*times));

	for (size_t i = 0; times && i < count; i++)
		times[i] = length_of(&track->steps[i]);
	if (times)
		qsort(times, count, sizeof(*times), compare_times);
	return times;
}

/* Of `of` equal parts of the sorted ones the end of the `part`th. */
static u64 quantile(const u64 *times, size_t count, unsigned part, unsigned of)
{
	return times[(count * part + of - 1) / of - 1];
}

bool explain_steps_sum(const struct explain *explain, struct explain_steps *ret_steps)
{
	const struct view_step_track *track = main_track(explain);
	size_t count = track ? recorded_count(track) : 0;
	u64 *times = count ? times_of(track, count) : NULL;
	u64 total_ns = 0, busy_ns = 0;

	if (!times)
		return false;
	for (size_t i = 0; i < count; i++) {
		total_ns += times[i];
		busy_ns += track->steps[i].busy_ns;
	}
	*ret_steps = (struct explain_steps){
		.count = count,
		.mean_ns = total_ns / count,
		.p50_ns = quantile(times, count, 1, 2),
		.p95_ns = quantile(times, count, 19, 20),
		.busy_mean_ns = busy_ns / count,
	};
	free(times);
	return true;
}

/* ---- what is longer in the slow ones ---- */

struct choice {
	struct why_slice *slices;
	u64 counts[WHY_GROUPS], ns[WHY_GROUPS];
};

/* Slow: from p95 on; typical: the middle half. False: they hardly differ, or there are too few. */
static bool choose(const struct view_step_track *track, size_t count, const u64 *times,
		   struct choice *choice, struct why_slices *ret_slices)
{
	u64 low = quantile(times, count, 1, 4), high = quantile(times, count, 3, 4);
	u64 slow = quantile(times, count, 19, 20);

	if ((double)slow < SLOWER_LEAST * (double)quantile(times, count, 1, 2) || slow <= high)
		return false;
	*ret_slices = (struct why_slices){.items = choice->slices};
	for (size_t i = 0; i < count; i++) {
		const struct view_step *step = &track->steps[i];
		u64 ns = length_of(step);
		u32 group = ns >= slow		      ? GROUP_SLOW
			    : ns >= low && ns <= high ? GROUP_TYPICAL
						      : GROUP_NONE;

		if (!group)
			continue;
		choice->slices[ret_slices->count++] =
			(struct why_slice){step->start_ns, step->end_ns, group};
		choice->counts[group]++;
		choice->ns[group] += ns;
	}
	return true;
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
		if (cause->group == GROUP_SLOW &&
		    explain_cause_place_add(explain, why, cause, &slow->parts[part].places))
			return -ENOMEM;
	}
	return 0;
}

static int compare(struct explain *explain, const struct view_step_track *track, size_t count,
		   struct choice *choice, struct err *err)
{
	u64 *times = times_of(track, count);
	struct why_slices slices;
	struct why why = {0};
	int result = 0;

	if (!times)
		return err_errno(err, -ENOMEM, "can't explain the capture");
	if (choose(track, count, times, choice, &slices)) {
		explain->slow.count = choice->counts[GROUP_SLOW];
		explain->slow.mean_ns = mean(choice->ns[GROUP_SLOW], explain->slow.count);
		explain->slow.typical_count = choice->counts[GROUP_TYPICAL];
		explain->slow.typical_mean_ns =
			mean(choice->ns[GROUP_TYPICAL], explain->slow.typical_count);
		result = why_make(explain->view, &slices, &why, err);
		if (result == 0 && add_causes(explain, &why, &explain->slow))
			result = err_errno(err, -ENOMEM, "can't explain the capture");
		why_free(&why);
	}
	free(times);
	return result;
}

int explain_slow_add(struct explain *explain, struct err *err)
{
	const struct view_step_track *track = main_track(explain);
	size_t count = track ? recorded_count(track) : 0;
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

size_t explain_slow_sort(const struct explain_slow *slow, unsigned ret_parts[EXPLAIN_SLOW_PARTS])
{
	size_t count = 0;

	for (unsigned part = 0; part < EXPLAIN_SLOW_PARTS; part++) {
		size_t place = count;

		if (slow->parts[part].slow_ns == 0 && slow->parts[part].typical_ns == 0)
			continue;
		for (; place && longer_ns(slow, ret_parts[place - 1]) < longer_ns(slow, part);
		     place--)
			ret_parts[place] = ret_parts[place - 1];
		ret_parts[place] = part;
		count++;
	}
	return count;
}
