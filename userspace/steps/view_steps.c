/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps/view_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "steps/view_steps_parts.h"

void steps_free_work(struct view_step_track *track)
{
	for (size_t i = 0; i < track->count && track->work; i++)
		free(track->work[i].devices);
	free(track->work);
	track->work = NULL;
}

void steps_free(struct view_steps *steps)
{
	for (size_t i = 0; i < steps->track_count; i++) {
		steps_free_work(&steps->tracks[i]);
		free(steps->tracks[i].steps);
	}
	free(steps->tracks);
	free(steps->row_tracks);
	free(steps->process_tracks);
	*steps = (struct view_steps){0};
}

static void state_free(void *data)
{
	struct view_steps_state *state = data;

	steps_free(&state->steps);
	steps_select_free(state->select);
	free(state);
}

static void *state_make(void)
{
	struct view_steps_state *state = calloc(1, sizeof(*state));

	if (state)
		state->limits = (struct steps_limits){.launches = 1U << 20,
						      .calls = 1U << 19,
						      .spans = 1U << 18,
						      .steps = VIEW_STEPS_MAX};
	return state;
}

struct view_steps_state *steps_state(const struct view *view)
{
	static const struct view_companion_type type = {state_make, state_free};

	return view_companion(view, &type);
}

int view_set_step_name(struct view *view, const char *glob)
{
	struct view_steps_state *state = steps_state(view);

	if (!state)
		return -ENOMEM;
	state->glob = glob;
	return 0;
}

int steps_index_rows(const struct view *view, struct view_steps *steps)
{
	const struct view_survey *survey = view_survey(view);
	size_t bytes = (survey->row_count + 1) * sizeof(u32);

	free(steps->row_tracks);
	free(steps->process_tracks);
	steps->row_tracks = calloc(1, bytes);
	steps->process_tracks = calloc(1, bytes);
	if (!steps->row_tracks || !steps->process_tracks)
		return -ENOMEM;
	for (size_t i = 0; i < steps->track_count; i++)
		steps->row_tracks[steps->tracks[i].row_index] = i + 1;
	memcpy(steps->process_tracks, steps->row_tracks, bytes);
	for (size_t row = 0; row < survey->row_count; row++) {
		u32 only = 0;

		if (survey->rows[row].type != ROW_THREAD || steps->row_tracks[row])
			continue;
		for (size_t i = 0; i < steps->track_count && only != ~0U; i++)
			if (steps->tracks[i].pid == survey->rows[row].pid)
				only = only ? ~0U : i + 1;
		steps->process_tracks[row] = only == ~0U ? 0 : only;
	}
	return 0;
}

const struct view_step_work *view_step_work(const struct view_step_track *track,
					    const struct view_step *step)
{
	static const struct view_step_work none;

	return track->work ? &track->work[step - track->steps] : &none;
}

const struct view_step_track *view_steps_track(const struct view_steps *steps, size_t row_index)
{
	u32 place = steps->row_tracks[row_index];

	return place ? &steps->tracks[place - 1] : NULL;
}

/* The last step of a track that begins at or before ts. */
static const struct view_step *step_before(const struct view_step_track *track, u64 ts)
{
	size_t low = 0, high = track->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (track->steps[middle].start_ns <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &track->steps[low - 1] : NULL;
}

const struct view_step *view_steps_at(const struct view_steps *steps, size_t row_index, u64 ts)
{
	u32 place = steps->process_tracks[row_index];
	const struct view_step *step = place ? step_before(&steps->tracks[place - 1], ts) : NULL;

	return step && ts < step->end_ns ? step : NULL;
}

size_t steps_row_of_cause(const struct view_steps *steps, const struct view_cause *cause)
{
	size_t row = cause->row_index;

	if (!steps->row_tracks[row] && steps->row_tracks[cause->within.row_index])
		row = cause->within.row_index;
	return row;
}

const struct view_step *view_steps_of_cause(const struct view_steps *steps,
					    const struct view_cause *cause)
{
	return view_steps_at(steps, steps_row_of_cause(steps, cause), cause->ts);
}

const struct view_step *view_steps_span(const struct view_steps *steps,
					const struct view_event *event)
{
	const struct view_step_track *track = view_steps_track(steps, event->row_index);
	const struct view_step *step = track && track->spans ? step_before(track, event->ts) : NULL;

	if (!step || step->start_ns != event->ts || step->end_ns != event->end ||
	    strcmp(step->name, event->name) != 0)
		return NULL;
	return step;
}

const char *view_steps_why_short(const struct view *view)
{
	const struct view_steps_state *state = steps_state(view);

	return state ? state->steps.why_short : NULL;
}

const char *view_step_source_text(enum view_step_source source)
{
	static const char *const texts[] = {
		[STEP_OF_NAME] = "--step-name",	      [STEP_OF_NVTX] = "NVTX range",
		[STEP_OF_RANGE] = "gpuprobe.h range", [STEP_OF_FUNCTION] = "function",
		[STEP_OF_GRAPH] = "graph launch",     [STEP_OF_OPTIMIZER] = "optimizer call",
		[STEP_OF_KERNEL] = "kernel launch",
	};

	return texts[source];
}
