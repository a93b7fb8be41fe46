/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps of the main track: how long they are. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "explain/explain_parts.h"

static int compare_times(const void *a, const void *b)
{
	return array_compare_u64(a, b);
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

const struct view_step_track *explain_steps_main(const struct explain *explain, size_t *ret_count)
{
	const struct view_step_track *track;

	if (!explain->steps || !explain->steps->track_count || !explain->steps->tracks[0].count)
		return NULL;
	track = &explain->steps->tracks[0];
	*ret_count = recorded_count(track);
	return track;
}

u64 *explain_steps_times(const struct view_step_track *track, size_t count)
{
	u64 *times = calloc(count, sizeof(*times));

	for (size_t i = 0; times && i < count; i++)
		times[i] = track->steps[i].end_ns - track->steps[i].start_ns;
	if (times)
		qsort(times, count, sizeof(*times), compare_times);
	return times;
}

u64 explain_steps_quantile(const u64 *times, size_t count, unsigned part, unsigned of)
{
	return times[(count * part + of - 1) / of - 1];
}

bool explain_steps_sum(const struct explain *explain, struct explain_steps *ret_steps)
{
	size_t count = 0;
	const struct view_step_track *track = explain_steps_main(explain, &count);
	u64 *times = count ? explain_steps_times(track, count) : NULL;
	u64 total_ns = 0, busy_ns = 0;

	if (!times)
		return false;
	for (size_t i = 0; i < count; i++) {
		total_ns += times[i];
		busy_ns += view_step_work(track, &track->steps[i])->busy_ns;
	}
	*ret_steps = (struct explain_steps){
		.count = count,
		.mean_ns = total_ns / count,
		.p50_ns = explain_steps_quantile(times, count, 1, 2),
		.p95_ns = explain_steps_quantile(times, count, 19, 20),
		.busy_mean_ns = busy_ns / count,
	};
	free(times);
	return true;
}
