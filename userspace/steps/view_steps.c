#include "steps/view_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "steps/view_steps_parts.h"

/* What the recording was told; the last one of several. */
static const char *recorded_glob(const struct view *view)
{
	const struct view_survey *survey = view_survey(view);
	const char *glob = NULL;

	for (size_t i = 0; i < survey->attribute_count; i++)
		if (strcmp(survey->attributes[i].group, "option") == 0 &&
		    strcmp(survey->attributes[i].key, "step-name") == 0)
			glob = survey->attributes[i].value;
	return glob && *glob ? glob : NULL;
}

static void steps_free(struct view_steps *steps)
{
	for (size_t i = 0; i < steps->track_count; i++) {
		for (size_t n = 0; n < steps->tracks[i].count; n++)
			free(steps->tracks[i].steps[n].devices);
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
	free(state);
}

static void *state_make(void)
{
	struct view_steps_state *state = calloc(1, sizeof(*state));

	if (state)
		state->limits = (struct steps_limits){.launches = 1U << 22,
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

/* Where nothing can be a step there is no need to look. */
static bool may_have_steps(const struct view *view)
{
	static const u16 kinds[] = {KIND_call, KIND_entry,     KIND_api,       KIND_range,
				    KIND_mark, KIND_usdt_span, KIND_usdt_point};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (view_kind_count(view, kinds[i]))
			return true;
	return false;
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

static int find(struct view *view, struct view_steps *steps, struct err *err)
{
	struct steps_roots *roots = NULL;
	struct steps_found found;
	size_t count;
	int result = steps_find(view, steps->step_name, &steps_state(view)->limits, &found, err);

	if (result < 0)
		return result;
	result = steps_choose(view, &found, steps, &roots, err);
	count = steps->track_count;
	if (result == 0 && count)
		result = steps_build(view, &found, roots, steps, err);
	if (roots)
		steps_roots_free(roots, count);
	steps_found_free(&found);
	return result;
}

int view_steps_times(const struct view *view, const struct view_steps **ret_steps, struct err *err)
{
	struct view_steps_state *state = steps_state(view);
	struct view_steps steps = {0};
	int result = 0;

	if (!state)
		return err_errno(err, -ENOMEM, "can't look for steps");
	*ret_steps = &state->steps;
	if (state->found)
		return 0;
	steps.step_name = state->glob ? state->glob : recorded_glob(view);
	/* A run changes what a view has made up to now, nothing that it has said. */
	if (may_have_steps(view))
		result = find((struct view *)view, &steps, err);
	if (result == 0 && !steps.row_tracks && steps_index_rows(view, &steps) < 0)
		result = err_errno(err, -ENOMEM, "can't look for steps");
	if (result < 0) {
		steps_free(&steps);
		return result;
	}
	state->steps = steps;
	state->found = true;
	return 0;
}

int view_steps(const struct view *view, const struct view_steps **ret_steps, struct err *err)
{
	int result = view_steps_times(view, ret_steps, err);

	if (result == 0 && !steps_state(view)->worked && (*ret_steps)->count)
		result = steps_add_work((struct view *)view, err);
	return result;
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
