/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver of the search for steps: which part looks for what, one after the other. */
#include "steps/view_steps.h"

#include <errno.h>
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

/* Where nothing can be a step there is no need to look. */
static bool may_have_steps(const struct view *view)
{
	static const u16 kinds[VIEW_ROW_KINDS_MAX] = {KIND_call,      KIND_entry, KIND_api,
						      KIND_range,     KIND_mark,  KIND_usdt_span,
						      KIND_usdt_point};

	return view_has_any(view, kinds);
}

/* What was found in the run to steps. ret_failed: what items could not be kept, or read; the steps are not known then, and its error says
 * why. */
static int make(struct view *view, struct steps_select *select, struct view_steps *steps,
		bool *ret_failed, struct err *err)
{
	struct steps_roots *roots = NULL;
	struct steps_found found;
	size_t count;
	int result = steps_select_finish(select, &found, err);

	if (result < 0)
		return result;
	if (!found.items.failed)
		result = steps_choose(view, &found, steps, &roots, err);
	*ret_failed = result == 0 && paged_array_check(&found.items, err) < 0;
	count = steps->track_count;
	if (result == 0 && count && !*ret_failed)
		result = steps_build(view, &found, roots, steps, err);
	if (roots)
		steps_roots_free(roots, count);
	steps_found_free(&found);
	return result;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A run of its own for no more than fits into memory. */
static int find_short(struct view *view, struct view_steps *steps, struct err *err)
{
	struct steps_limits limits = steps_state(view)->limits;
	struct steps_select *select;
	bool failed = false;
	int result;

	limits.launches = least(limits.launches, STEPS_IN_MEMORY_LAUNCHES);
	limits.calls = least(limits.calls, STEPS_IN_MEMORY_CALLS);
	select = steps_select_new(view, steps->step_name, &limits);
	if (!select)
		return err_errno(err, -ENOMEM, "can't look for steps");
	result = view_run(view, &steps_select_sink, select, err);
	if (result == 0)
		result = make(view, select, steps, &failed, err);
	steps_select_free(select);
	return result == 0 && failed ? -EIO : result;
}

/* Where what threads launch can't be kept in a file it is a long capture, of which as much is kept as memory has. */
static int find(struct view *view, struct steps_select *select, struct view_steps *steps,
		struct err *err)
{
	const char *glob = steps->step_name, *why;
	bool failed;
	int result = make(view, select, steps, &failed, err);

	if (result < 0 || !failed)
		return result;
	steps_free(steps);
	steps->step_name = glob;
	why = view_intern(view, err->message, strlen(err->message));
	if (!why)
		return err_errno(err, -ENOMEM, "can't look for steps");
	result = find_short(view, steps, err);
	if (result < 0)
		return result;
	steps->why_short = why;
	if (view_note_loss(view, VALUE_loss_reason_steps_shortened, why, 1) < 0)
		return err_errno(err, -ENOMEM, "can't look for steps");
	return 0;
}

/* In which the work of GPUs is known to its end, and so are the calls by which it is theirs. */
static void mark_recorded(const struct view *view, struct view_steps *steps)
{
	for (size_t i = 0; i < steps->track_count; i++) {
		const struct view_step_track *track = &steps->tracks[i];
		u64 work_ns = view_recorded_until(view, VALUE_recorded_sort_gpu, track->pid);
		u64 calls_ns =
			view_recorded_until(view, VALUE_recorded_sort_cuda_calls, track->pid);
		u64 until_ns = work_ns < calls_ns ? work_ns : calls_ns;

		for (size_t n = 0; n < track->count; n++)
			track->steps[n].gpu_recorded = track->steps[n].end_ns <= until_ns;
	}
}

int view_steps_search_begin(const struct view *view, struct view_part *ret_part, struct err *err)
{
	struct view_steps_state *state = steps_state(view);

	*ret_part = (struct view_part){0};
	if (!state)
		return err_errno(err, -ENOMEM, "can't look for steps");
	if (state->found || !may_have_steps(view))
		return 0;
	/* Of a run that failed. */
	steps_select_free(state->select);
	state->select = steps_select_new(view, state->glob ? state->glob : recorded_glob(view),
					 &state->limits);
	if (!state->select)
		return err_errno(err, -ENOMEM, "can't look for steps");
	*ret_part = (struct view_part){&steps_select_sink, state->select};
	return 0;
}

int view_steps_search_end(const struct view *view, const struct view_steps **ret_steps,
			  struct err *err)
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
	if (state->select)
		result = find((struct view *)view, state->select, &steps, err);
	steps_select_free(state->select);
	state->select = NULL;
	if (result == 0 && !steps.row_tracks && steps_index_rows(view, &steps) < 0)
		result = err_errno(err, -ENOMEM, "can't look for steps");
	if (result < 0) {
		steps_free(&steps);
		return result;
	}
	mark_recorded(view, &steps);
	state->steps = steps;
	state->found = true;
	return 0;
}

int view_steps_times(const struct view *view, const struct view_steps **ret_steps, struct err *err)
{
	struct view_part part;
	int result = view_steps_search_begin(view, &part, err);

	if (result == 0 && part.sink)
		result = view_run((struct view *)view, part.sink, part.data, err);
	return result < 0 ? result : view_steps_search_end(view, ret_steps, err);
}

int view_steps(const struct view *view, const struct view_steps **ret_steps, struct err *err)
{
	struct view_part part = {0};
	int result = view_steps_times(view, ret_steps, err);

	if (result == 0)
		part = view_steps_work_part(view);
	if (result == 0 && part.sink)
		result = view_run((struct view *)view, part.sink, part.data, err);
	return result;
}
