/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of the tracks: spans that were found, or where there were too many for that, as they come in a pass over the events; of periodic ones
 * the same pass finds where each begins.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "steps/view_steps_parts.h"

struct build_track {
	const struct steps_roots *roots;
	size_t capacity; /* of steps */
	bool *moved;	 /* of each root: its step begins with a range or call around it */
	u64 *limits_ns;	 /* of each root: where its step ends at the latest; 0: anywhere */
	size_t next;	 /* the first root that is not before the last event */
	u64 last_end_ns; /* of the last step; 0: it is none */
};

struct build {
	const struct view *view;
	struct steps_found *found;
	struct view_steps *steps;
	struct build_track *tracks;
};

/* ---- steps ---- */

static bool is_chosen(struct build *build, const struct view_event *event,
		      const struct steps_known *known, enum view_step_source source)
{
	size_t place = steps_found_series(build->found, event->row_index, known->series, source);

	return place && build->found->series[place - 1].chosen;
}

/* Inside the step that is open there is no other one. */
static int add_span(struct build *build, struct view_step_track *track,
		    const struct steps_span *span)
{
	struct build_track *state = &build->tracks[track - build->steps->tracks];

	if (track->count && span->ts < track->steps[track->count - 1].end_ns)
		return 0;
	if (build->steps->count >= build->found->steps_max) {
		build->steps->left_out++;
		return 0;
	}
	if (array_reserve(&track->steps, &state->capacity, track->count + 1) < 0)
		return -ENOMEM;
	track->steps[track->count] = (struct view_step){
		.number = track->count,
		.named_number = step_name_number(span->name),
		.start_ns = span->ts,
		.end_ns = span->end,
		.name = span->name,
	};
	track->count++;
	build->steps->count++;
	return 0;
}

/* The first root at or behind ts, from `low` on. */
static size_t root_behind(const struct steps_roots *roots, size_t low, u64 ts)
{
	size_t high = roots->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (roots->times_ns[middle] < ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void limit(struct build_track *state, size_t root, u64 ts)
{
	if (!state->limits_ns[root] || ts < state->limits_ns[root])
		state->limits_ns[root] = ts;
}

/* The last step ends with what it would cut in two, or before it where that does not end. Several roots: not of the last step alone. */
static void fit_last_end(struct build_track *state, const struct view_event *event, size_t first,
			 size_t behind)
{
	const struct steps_roots *roots = state->roots;
	bool begins_behind = event->ts > roots->times_ns[roots->count - 1];

	if (event->ts >= state->last_end_ns || event->end <= state->last_end_ns)
		return;
	if (event->open && begins_behind)
		state->last_end_ns = event->ts;
	else if (!event->open && (begins_behind || (behind == roots->count && behind - first == 1)))
		state->last_end_ns = event->end;
}

/* A step does not cut a range or call in two: it begins with the outermost one that has only its root inside (outer ones
 * come first), and ends before one with several begins, or with it. */
static void fit_roots(struct build *build, struct view_step_track *track,
		      const struct view_event *event)
{
	struct build_track *state = &build->tracks[track - build->steps->tracks];
	const struct steps_roots *roots = state->roots;
	size_t first, behind;

	while (state->next < roots->count && roots->times_ns[state->next] < event->ts)
		state->next++;
	first = state->next;
	behind = root_behind(roots, first, event->end);
	if (!event->lane && roots->count && state->last_end_ns)
		fit_last_end(state, event, first, behind);
	if (event->lane || first == behind)
		return;
	if (behind - first > 1 || event->open) {
		if (first)
			limit(state, first - 1, event->ts);
		if (!event->open)
			limit(state, behind - 1, event->end);
	} else if (!state->moved[first]) {
		state->moved[first] = true;
		track->steps[first].start_ns = event->ts;
	}
}

static int build_thread_span(struct build *build, const struct view_event *event)
{
	u32 place = build->steps->row_tracks[event->row_index];
	enum view_step_source source = STEP_OF_FUNCTION;
	u16 kind = event->kind->number;
	struct view_step_track *track;
	struct steps_known known;
	bool range;
	int result;

	if (!place)
		return 0;
	track = &build->steps->tracks[place - 1];
	range = steps_is_range(build->view, event, &source);
	if (!range && kind != KIND_call && kind != KIND_usdt_span && kind != KIND_api)
		return 0;
	if (!track->spans) {
		fit_roots(build, track, event);
		return 0;
	}
	if (!build->found->spans_cut)
		return 0;
	if (kind == KIND_api || !steps_has_end(event) ||
	    (kind == KIND_usdt_span && !range && !build->found->names.glob))
		return 0;
	result = steps_names_find(&build->found->names, event, &known);
	if (result < 0)
		return result;
	if (build->found->names.glob)
		source = STEP_OF_NAME;
	if (!is_chosen(build, event, &known, source))
		return 0;
	return add_span(build, track, &(struct steps_span){event->name, event->ts, event->end, 0});
}

static int build_span(void *data, const struct view_event *event, struct err *err)
{
	int result = event->kind->row == ROW_THREAD ? build_thread_span(data, event) : 0;

	return result < 0 ? err_errno(err, result, "can't look for steps") : 0;
}

/* ---- before and after the pass ---- */

/* One a root. Where nothing says when the last one ends it is none, and until the end says where the one before does. */
static int begin_roots(struct build *build, size_t place)
{
	struct view_step_track *track = &build->steps->tracks[place];
	const struct steps_roots *roots = build->tracks[place].roots;
	const char *name = build->found->names.item_names[roots->item];

	track->steps = calloc(roots->count + 1, sizeof(*track->steps));
	build->tracks[place].moved = calloc(roots->count + 1, sizeof(bool));
	build->tracks[place].limits_ns = calloc(roots->count + 1, sizeof(u64));
	if (!track->steps || !build->tracks[place].moved || !build->tracks[place].limits_ns)
		return -ENOMEM;
	for (size_t i = 0; i < roots->count; i++)
		track->steps[i] = (struct view_step){
			.number = i,
			.named_number = ~0ULL,
			.start_ns = roots->times_ns[i],
			.name = name,
		};
	track->count = roots->count;
	build->tracks[place].last_end_ns = roots->last_end_ns;
	return 0;
}

static void end_roots(struct build *build, struct view_step_track *track)
{
	const struct build_track *state = &build->tracks[track - build->steps->tracks];
	u64 last_end_ns = state->last_end_ns;

	if (!track->count)
		return;
	track->count -= !last_end_ns;
	for (size_t i = 0; i < track->count; i++) {
		u64 end_ns =
			i + 1 < state->roots->count ? track->steps[i + 1].start_ns : last_end_ns;

		if (state->limits_ns[i] && state->limits_ns[i] < end_ns)
			end_ns = state->limits_ns[i];
		track->steps[i].end_ns = end_ns;
	}
	build->steps->count += track->count;
}

static int begin(struct build *build, const struct steps_roots *roots)
{
	int result = 0;

	build->tracks = calloc(build->steps->track_count + 1, sizeof(*build->tracks));
	if (!build->tracks)
		return -ENOMEM;
	for (size_t i = 0; i < build->steps->track_count && result == 0; i++) {
		build->tracks[i].roots = &roots[i];
		if (!build->steps->tracks[i].spans)
			result = begin_roots(build, i);
	}
	return result < 0 ? result : steps_index_rows(build->view, build->steps);
}

static int compare_tracks(const void *a, const void *b)
{
	const struct view_step_track *left = a, *right = b;

	if (left->launch_count != right->launch_count)
		return left->launch_count > right->launch_count ? -1 : 1;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return left->row_index < right->row_index ? -1 : left->row_index > right->row_index;
}

/* Without those that have no step. */
static int finish(struct build *build)
{
	struct view_steps *steps = build->steps;
	size_t count = 0;

	for (size_t i = 0; i < steps->track_count; i++) {
		struct view_step_track *track = &steps->tracks[i];

		if (!track->spans)
			end_roots(build, track);
		if (track->count)
			steps->tracks[count++] = *track;
		else
			free(track->steps);
	}
	steps->track_count = count;
	if (count)
		qsort(steps->tracks, count, sizeof(*steps->tracks), compare_tracks);
	return steps_index_rows(build->view, steps);
}

static int add_found_spans(struct build *build)
{
	const struct steps_found *found = build->found;
	int result = 0;

	for (size_t i = 0; i < found->span_count && result == 0; i++) {
		const struct steps_series *series = &found->series[found->spans[i].series];
		u32 place = build->steps->row_tracks[series->row_index];

		if (series->chosen && place && build->steps->tracks[place - 1].spans)
			result =
				add_span(build, &build->steps->tracks[place - 1], &found->spans[i]);
	}
	return result;
}

/* Is there anything in which a step may begin earlier than with its root? */
static bool needs_pass(const struct build *build)
{
	bool around = view_kind_count(build->view, KIND_call) ||
		      view_kind_count(build->view, KIND_range) ||
		      view_kind_count(build->view, KIND_usdt_span);

	for (size_t i = 0; i < build->steps->track_count; i++)
		if (build->steps->tracks[i].spans ? build->found->spans_cut : around)
			return true;
	return false;
}

int steps_build(struct view *view, struct steps_found *found, const struct steps_roots *roots,
		struct view_steps *steps, struct err *err)
{
	const struct view_sink sink = {.span = build_span};
	struct build build = {.view = view, .found = found, .steps = steps};
	size_t count = steps->track_count;
	int result = begin(&build, roots);

	if (result == 0 && !found->spans_cut)
		result = add_found_spans(&build);
	if (result < 0)
		err_errno(err, result, "can't look for steps");
	else if (needs_pass(&build))
		result = view_run(view, &sink, &build, err);
	if (result == 0 && (result = finish(&build)) < 0)
		err_errno(err, result, "can't look for steps");
	for (size_t i = 0; build.tracks && i < count; i++) {
		free(build.tracks[i].moved);
		free(build.tracks[i].limits_ns);
	}
	free(build.tracks);
	return result;
}
