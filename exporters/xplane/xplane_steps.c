/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_steps.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "why/why_times.h"

#define NUMBER_UNKNOWN (~0ULL)

int xplane_steps_find(struct xplane_steps *steps, const struct view *view, struct xplane_rows *rows,
		      struct spool_store *store, struct err *err)
{
	struct view_part part;
	int result = view_steps_search_begin(view, &part, err);

	/* Why GPUs were idle is asked for behind this: the same run finds it. */
	if (result == 0)
		result = why_times_beside(view, &part, part.sink ? 1 : 0, err);
	if (result == 0)
		result = view_steps_search_end(view, &steps->steps, err);
	if (result < 0)
		return result;
	steps->view = view;
	view_steps_work_begin(view);
	steps->rows = rows;
	steps->store = store;
	steps->tracks = calloc(rows->space_count, sizeof(*steps->tracks));
	steps->next = calloc(rows->space_count, sizeof(*steps->next));
	steps->stepless = calloc(rows->space_count, sizeof(*steps->stepless));
	steps->stepped = calloc(rows->space_count, sizeof(*steps->stepped));
	if (!steps->tracks || !steps->next || !steps->stepless || !steps->stepped)
		return err_errno(err, -ENOMEM, "can't write steps");
	for (size_t i = 0; i < rows->space_count; i++)
		for (size_t j = 0; j < steps->steps->track_count && !steps->tracks[i]; j++)
			if (steps->steps->tracks[j].pid == rows->spaces[i].pid)
				steps->tracks[i] = &steps->steps->tracks[j];
	return 0;
}

void xplane_steps_free(struct xplane_steps *steps)
{
	free(steps->tracks);
	free(steps->next);
	free(steps->stepless);
	free(steps->stepped);
	*steps = (struct xplane_steps){0};
}

static u64 offset_of(const struct xplane_steps *steps, u64 ts)
{
	return ts > steps->rows->start_ns ? ts - steps->rows->start_ns : 0;
}

/* ---- roots ---- */

static bool add_root(struct xplane_plane *plane, struct xplane_event *event,
		     const struct view_step *step)
{
	u64 number = step->named_number == NUMBER_UNKNOWN ? step->number : step->named_number;

	return xplane_event_add_s64(event, plane, "_r", 1) &&
	       xplane_event_add_s64(event, plane, "step_num", (s64)number);
}

/* The steps that begin up to ts, as events of their own. */
static int write_roots(struct xplane_steps *steps, size_t space, u64 ts, struct err *err)
{
	const struct view_step_track *track = steps->tracks[space];
	const struct xplane_place *place = xplane_rows_place(steps->rows, track->row_index, 0);
	int result = 0;

	for (; steps->next[space] < track->count && result == 0; steps->next[space]++) {
		const struct view_step *step = &track->steps[steps->next[space]];
		struct xplane_plane *plane = place ? &steps->rows->planes[place->plane] : NULL;
		struct text name _cleanup_text_ = {0}, scratch _cleanup_text_ = {0};
		struct xplane_event event;

		/* What GPUs did in it is not known: no step for XProf, which would find it idle. */
		if (step->start_ns > ts || !plane || !step->gpu_recorded)
			break;
		text_appendf(&name, "step of %s", text_utf8(step->name, &scratch));
		if (name.failed ||
		    !xplane_event_begin(&event, plane, text_string(&name),
					offset_of(steps, step->start_ns),
					step->end_ns - step->start_ns) ||
		    !add_root(plane, &event, step))
			return err_errno(err, -ENOMEM, "can't write steps");
		result = xplane_line_add(&plane->lines[place->line], steps->store, &event, err);
	}
	return result;
}

static size_t space_of_track(const struct xplane_steps *steps, size_t row_index)
{
	for (size_t i = 0; i < steps->rows->space_count; i++)
		if (steps->tracks[i] && steps->tracks[i]->row_index == row_index)
			return i;
	return steps->rows->space_count;
}

int xplane_steps_before(struct xplane_steps *steps, const struct view_event *event, struct err *err)
{
	int result = view_steps_work_add(steps->view, event, err);
	size_t space;

	if (result < 0 || event->lane)
		return result;
	space = space_of_track(steps, event->row_index);
	if (space == steps->rows->space_count || steps->tracks[space]->spans)
		return 0;
	return write_roots(steps, space, event->ts, err);
}

static size_t space_of_plane(const struct xplane_steps *steps, const struct xplane_plane *plane)
{
	size_t place = plane - steps->rows->planes, i = 0;

	while (i + 1 < steps->rows->space_count && place >= steps->rows->spaces[i + 1].first_plane)
		i++;
	return i;
}

/* The step of the main track in which work was launched, by whichever thread. */
static const struct view_step *step_of_work(const struct xplane_steps *steps,
					    const struct view_step_track *track,
					    const struct view_event *event)
{
	const struct view_step *step =
		event->cause ? view_steps_at(steps->steps, track->row_index, event->cause->ts)
			     : NULL;

	return step && step->gpu_recorded ? step : NULL;
}

/* By itself XProf finds no step of what other threads launched, and takes what is in none for a part of the last one. What
 * is in none has a group below 0, of which XProf makes no step: another one after each step, since a group is drawn from
 * its first event to its last. */
static bool add_group(struct xplane_steps *steps, const struct view_event *event,
		      struct xplane_plane *plane, struct xplane_event *ret_event)
{
	size_t space = space_of_plane(steps, plane);
	const struct view_step_track *track = steps->tracks[space];
	const struct view_step *step = track ? step_of_work(steps, track, event) : NULL;

	if (!track)
		return true;
	if (!steps->stepless[space] || (step && !steps->stepped[space]))
		steps->stepless[space]--;
	steps->stepped[space] = step != NULL;
	return xplane_event_add_s64(ret_event, plane, "group_id",
				    step ? step->number : (u64)steps->stepless[space]);
}

int xplane_steps_mark(struct xplane_steps *steps, const struct view_event *event,
		      struct xplane_plane *plane, struct xplane_event *ret_event, struct err *err)
{
	size_t space = space_of_track(steps, event->row_index);
	const struct view_step *step;

	if (event->kind->row == ROW_STREAM && !add_group(steps, event, plane, ret_event))
		return err_errno(err, -ENOMEM, "can't write steps");
	if (space == steps->rows->space_count || !steps->tracks[space]->spans)
		return 0;
	step = view_steps_span(steps->steps, event);
	/* Of two ranges that are alike, and begin and end together, one. */
	if (!step || !step->gpu_recorded || step < &steps->tracks[space]->steps[steps->next[space]])
		return 0;
	if (!add_root(plane, ret_event, step))
		return err_errno(err, -ENOMEM, "can't write steps");
	steps->next[space] = step - steps->tracks[space]->steps + 1;
	return 0;
}

/* ---- on the GPUs ---- */

static const struct view_step_device *device_of(const struct view_step_track *track, size_t step,
						u32 device_number)
{
	const struct view_step_work *work = view_step_work(track, &track->steps[step]);

	for (size_t i = 0; i < work->device_count; i++)
		if (work->devices[i].device_number == device_number)
			return &work->devices[i];
	return NULL;
}

/* From the first work of a step to the first of the next: what is between them was waited for. */
static int write_spans(struct xplane_steps *steps, const struct view_step_track *track,
		       struct xplane_plane *plane, struct err *err)
{
	struct xplane_line *line = xplane_rows_step_spans(plane);
	u64 begin_ns = 0;
	int result = 0;

	for (size_t i = 0; i < track->count && result == 0; i++) {
		const struct view_step_device *work = device_of(track, i, plane->device_number),
					      *next = NULL;
		struct xplane_event event;
		u64 end_ns;

		if (!work || !track->steps[i].gpu_recorded)
			continue;
		if (work->first_ns < begin_ns) {
			steps->overlapping++;
			continue;
		}
		if (i + 1 < track->count)
			next = device_of(track, i + 1, plane->device_number);
		begin_ns = work->first_ns;
		end_ns = next && next->first_ns > begin_ns ? next->first_ns : work->last_ns;
		if (!xplane_event_begin(&event, plane, "step", offset_of(steps, begin_ns),
					end_ns - begin_ns) ||
		    !xplane_event_add_s64(&event, plane, "group_id", (s64)i))
			return err_errno(err, -ENOMEM, "can't write steps");
		result = xplane_line_add(line, steps->store, &event, err);
		begin_ns = end_ns;
	}
	return result;
}

int xplane_steps_close(struct xplane_steps *steps, struct err *err)
{
	int result = 0;

	view_steps_work_end(steps->view);

	for (size_t i = 0; i < steps->rows->space_count && result == 0; i++) {
		const struct xplane_space *space = &steps->rows->spaces[i];

		if (!steps->tracks[i])
			continue;
		if (!steps->tracks[i]->spans)
			result = write_roots(steps, i, ~0ULL, err);
		/* The first plane is the host's. */
		for (size_t j = 1; j < space->plane_count && result == 0; j++)
			result = write_spans(steps, steps->tracks[i],
					     &steps->rows->planes[space->first_plane + j], err);
	}
	return result;
}

int xplane_steps_tell(const struct xplane_steps *steps, struct xplane_message_list *warnings)
{
	const struct view_steps *all = steps->steps;
	u64 shown = 0;
	int result = 0;

	for (size_t i = 0; i < steps->rows->space_count; i++)
		shown += steps->tracks[i] ? steps->tracks[i]->count : 0;
	if (all->left_out)
		result = xplane_messages_add(
			warnings, "%llu steps are left out: there is room for the first %u",
			(unsigned long long)all->left_out, VIEW_STEPS_MAX);
	if (result == 0 && shown < all->count)
		result = xplane_messages_add(warnings,
					     "%llu steps of other threads are not shown as steps: "
					     "XProf knows one sequence a "
					     "process, that of the thread that launched most "
					     "(gpuprobe stats -r steps has "
					     "all)",
					     (unsigned long long)(all->count - shown));
	if (result == 0 && steps->overlapping)
		result = xplane_messages_add(warnings,
					     "%llu steps have no time of their own on a GPU: their "
					     "work there began before that of the "
					     "step before",
					     (unsigned long long)steps->overlapping);
	return result;
}
