/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "steps/view_steps_parts.h"

static struct view_step_device *device_of(struct view_step_work *work, const struct view_row *row)
{
	struct view_step_device *devices;

	for (size_t i = 0; i < work->device_count; i++)
		if (work->devices[i].device == row->device)
			return &work->devices[i];
	devices = realloc(work->devices, (work->device_count + 1) * sizeof(*devices));
	if (!devices)
		return NULL;
	work->devices = devices;
	devices[work->device_count] = (struct view_step_device){
		.device = row->device,
		.device_number = row->device_number,
	};
	return &devices[work->device_count++];
}

static void count_work(struct view_step_work *work, const struct view_event *event)
{
	const struct record_copy *copy = (const struct record_copy *)event->record;

	switch (event->kind->number) {
	case KIND_kernel:
		work->kernel_count++;
		work->kernel_ns += event->dur;
		break;
	case KIND_graph_launch:
		work->graph_count++;
		break;
	case KIND_copy:
		work->copy_count++;
		work->copy_bytes += copy->bytes == ~0ULL ? 0 : copy->bytes;
		break;
	case KIND_set:
		work->set_count++;
		break;
	}
}

/* Work of a device comes by its start: busy until the latest end so far. */
static void add_busy(struct view_step_work *work, struct view_step_device *device,
		     const struct view_event *event)
{
	u64 since = event->ts > device->last_ns ? event->ts : device->last_ns;

	if (!device->first_ns)
		device->first_ns = event->ts;
	if (event->end > since) {
		device->busy_ns += event->end - since;
		work->busy_ns += event->end - since;
	}
	if (event->end > device->last_ns)
		device->last_ns = event->end;
	if (!work->first_ns)
		work->first_ns = event->ts;
	if (event->end > work->last_ns)
		work->last_ns = event->end;
}

void view_steps_work_begin(const struct view *view)
{
	struct view_steps_state *state = steps_state(view);

	/* Of a run that failed. */
	for (size_t i = 0; i < state->steps.track_count && !state->worked; i++)
		steps_free_work(&state->steps.tracks[i]);
}

/* Of the step in which it was launched; NULL: there is none. */
static int find_work(struct view_steps *steps, const struct view_cause *cause,
		     struct view_step_work **ret_work)
{
	size_t row = steps_row_of_cause(steps, cause);
	const struct view_step *step = view_steps_at(steps, row, cause->ts);
	struct view_step_track *track;

	*ret_work = NULL;
	if (!step)
		return 0;
	track = &steps->tracks[steps->process_tracks[row] - 1];
	if (!track->work)
		track->work = calloc(track->count, sizeof(*track->work));
	if (!track->work)
		return -ENOMEM;
	*ret_work = &track->work[step - track->steps];
	return 0;
}

int view_steps_work_add(const struct view *view, const struct view_event *event, struct err *err)
{
	const struct view_cause *cause = event->cause;
	struct view_steps_state *state = steps_state(view);
	struct view_step_device *device;
	struct view_step_work *work;
	int result;

	if (state->worked || !cause || event->open || event->kind->row != ROW_STREAM ||
	    event->kind->shape != SHAPE_SPAN)
		return 0;
	result = find_work(&state->steps, cause, &work);
	if (result == 0 && !work)
		return 0;
	device = result == 0 ? device_of(work, event->row) : NULL;
	if (!device)
		return err_errno(err, -ENOMEM, "can't sum up steps");
	count_work(work, event);
	add_busy(work, device, event);
	return 0;
}

void view_steps_work_end(const struct view *view)
{
	steps_state(view)->worked = true;
}

/* ---- as a part of a run ---- */

static int work_open(void *data, const struct view *view, const struct view_survey *survey,
		     struct err *err)
{
	(void)data;
	(void)survey;
	(void)err;
	view_steps_work_begin(view);
	return 0;
}

static int work_span(void *data, const struct view_event *event, struct err *err)
{
	return view_steps_work_add(data, event, err);
}

static int work_close(void *data, struct err *err)
{
	(void)err;
	view_steps_work_end(data);
	return 0;
}

struct view_part view_steps_work_part(const struct view *view)
{
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	static const struct view_sink sink = {
		.open = work_open, .span = work_span, .close = work_close};
	const struct view_steps_state *state = steps_state(view);

	if (state->worked || !state->steps.count || !view_has_any(view, work))
		return (struct view_part){0};
	return (struct view_part){&sink, (void *)view};
}
