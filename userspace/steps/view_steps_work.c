/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "steps/view_steps_parts.h"

static struct view_step_device *device_of(struct view_step *step, const struct view_row *row)
{
	struct view_step_device *devices;

	for (size_t i = 0; i < step->device_count; i++)
		if (step->devices[i].device == row->device)
			return &step->devices[i];
	devices = realloc(step->devices, (step->device_count + 1) * sizeof(*devices));
	if (!devices)
		return NULL;
	step->devices = devices;
	devices[step->device_count] = (struct view_step_device){
		.device = row->device,
		.device_number = row->device_number,
	};
	return &devices[step->device_count++];
}

static void count_work(struct view_step *step, const struct view_event *event)
{
	const struct record_copy *copy = (const struct record_copy *)event->record;

	switch (event->kind->number) {
	case KIND_kernel:
		step->kernel_count++;
		step->kernel_ns += event->dur;
		break;
	case KIND_graph_launch:
		step->graph_count++;
		break;
	case KIND_copy:
		step->copy_count++;
		step->copy_bytes += copy->bytes == ~0ULL ? 0 : copy->bytes;
		break;
	case KIND_set:
		step->set_count++;
		break;
	}
}

/* Work of a device comes by its start: busy until the latest end so far. */
static void add_busy(struct view_step *step, struct view_step_device *device,
		     const struct view_event *event)
{
	u64 since = event->ts > device->last_ns ? event->ts : device->last_ns;

	if (!device->first_ns)
		device->first_ns = event->ts;
	if (event->end > since) {
		device->busy_ns += event->end - since;
		step->busy_ns += event->end - since;
	}
	if (event->end > device->last_ns)
		device->last_ns = event->end;
	if (!step->first_ns)
		step->first_ns = event->ts;
	if (event->end > step->last_ns)
		step->last_ns = event->end;
}

/* Of a run that failed too. */
static void clear_work(struct view_step *step)
{
	free(step->devices);
	*step = (struct view_step){
		.number = step->number,
		.named_number = step->named_number,
		.start_ns = step->start_ns,
		.end_ns = step->end_ns,
		.name = step->name,
		.gpu_recorded = step->gpu_recorded,
	};
}

void view_steps_work_begin(const struct view *view)
{
	struct view_steps_state *state = steps_state(view);

	for (size_t i = 0; i < state->steps.track_count && !state->worked; i++)
		for (size_t n = 0; n < state->steps.tracks[i].count; n++)
			clear_work(&state->steps.tracks[i].steps[n]);
}

int view_steps_work_add(const struct view *view, const struct view_event *event, struct err *err)
{
	const struct view_cause *cause = event->cause;
	struct view_steps_state *state = steps_state(view);
	struct view_step_device *device;
	struct view_step *step = NULL;

	if (state->worked || !cause || event->open || event->kind->row != ROW_STREAM ||
	    event->kind->shape != SHAPE_SPAN)
		return 0;
	/* They are ours. */
	step = (struct view_step *)view_steps_of_cause(&state->steps, cause);
	if (!step)
		return 0;
	device = device_of(step, event->row);
	if (!device)
		return err_errno(err, -ENOMEM, "can't sum up steps");
	count_work(step, event);
	add_busy(step, device, event);
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
