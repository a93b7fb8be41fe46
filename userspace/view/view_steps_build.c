/*
 * The steps of the tracks, by one pass over the events: spans as they come, and for periodic ones where each begins. Work comes
 * after its launch, and so after the step in which that was has begun.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/view_steps_internal.h"

struct build_track {
	const struct steps_roots *roots;
	size_t capacity; /* of steps */
	bool *moved;	 /* of each root: its step begins with a range or call around it */
	size_t next;	 /* the first root that is not before the last event */
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
		    const struct view_event *event)
{
	struct build_track *state = &build->tracks[track - build->steps->tracks];

	if (track->count && event->ts < track->steps[track->count - 1].end_ns)
		return 0;
	if (build->steps->count >= VIEW_STEPS_MAX) {
		build->steps->left_out++;
		return 0;
	}
	if (array_reserve(&track->steps, &state->capacity, track->count + 1) < 0)
		return -ENOMEM;
	track->steps[track->count] = (struct view_step){
		.number = track->count,
		.named_number = step_name_number(event->name),
		.start_ns = event->ts,
		.end_ns = event->end,
		.name = event->name,
	};
	track->count++;
	build->steps->count++;
	return 0;
}

/* A step does not cut a range or call in two: it begins with the outermost one that has only this root inside. Outer ones
 * come first. */
static void move_root(struct build *build, struct view_step_track *track,
		      const struct view_event *event)
{
	struct build_track *state = &build->tracks[track - build->steps->tracks];
	const struct steps_roots *roots = state->roots;
	size_t i;

	while (state->next < roots->count && roots->times_ns[state->next] < event->ts)
		state->next++;
	i = state->next;
	if (event->open || event->lane || i >= roots->count || roots->times_ns[i] >= event->end)
		return;
	if (state->moved[i] || (i + 1 < roots->count && roots->times_ns[i + 1] < event->end))
		return;
	state->moved[i] = true;
	track->steps[i].start_ns = event->ts;
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

	if (!place || event->open)
		return 0;
	track = &build->steps->tracks[place - 1];
	range = steps_is_range(build->view, event, &source);
	if (!range && kind != KIND_call && kind != KIND_usdt_span && kind != KIND_api)
		return 0;
	if (!track->spans) {
		move_root(build, track, event);
		return 0;
	}
	if (kind == KIND_api || !steps_has_end(event) ||
	    (kind == KIND_usdt_span && !range && !build->found->names.glob))
		return 0;
	result = steps_names_find(&build->found->names, event, &known);
	if (result < 0)
		return result;
	if (build->found->names.glob)
		source = STEP_OF_NAME;
	return is_chosen(build, event, &known, source) ? add_span(build, track, event) : 0;
}

/* ---- work ---- */

static struct view_step *step_of_cause(struct build *build, const struct view_cause *cause)
{
	/* They are ours. */
	return (struct view_step *)view_steps_at(build->steps, cause->row_index, cause->ts);
}

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

static int build_work(struct build *build, const struct view_event *event)
{
	struct view_step *step = event->cause ? step_of_cause(build, event->cause) : NULL;
	struct view_step_device *device;

	if (!step || event->open)
		return 0;
	device = device_of(step, event->row);
	if (!device)
		return -ENOMEM;
	count_work(step, event);
	add_busy(step, device, event);
	return 0;
}

static int build_span(void *data, const struct view_event *event, struct err *err)
{
	struct build *build = data;
	int result = 0;

	if (event->kind->row == ROW_STREAM)
		result = build_work(build, event);
	else if (event->kind->row == ROW_THREAD)
		result = build_thread_span(build, event);
	return result < 0 ? err_errno(err, result, "can't look for steps") : 0;
}

/* ---- before and after the pass ---- */

/* One a root, the last of which is none: until the end it says where the one before ends. */
static int begin_roots(struct build *build, size_t place)
{
	struct view_step_track *track = &build->steps->tracks[place];
	const struct steps_roots *roots = build->tracks[place].roots;
	const char *name = build->found->names.item_names[roots->item];

	track->steps = calloc(roots->count + 1, sizeof(*track->steps));
	build->tracks[place].moved = calloc(roots->count + 1, sizeof(bool));
	if (!track->steps || !build->tracks[place].moved)
		return -ENOMEM;
	for (size_t i = 0; i < roots->count; i++)
		track->steps[i] = (struct view_step){
			.number = i,
			.named_number = ~0ULL,
			.start_ns = roots->times_ns[i],
			.end_ns = i + 1 < roots->count ? roots->times_ns[i + 1] : 0,
			.name = name,
		};
	track->count = roots->count;
	return 0;
}

static void end_roots(struct view_steps *steps, struct view_step_track *track)
{
	if (!track->count)
		return;
	track->count--;
	for (size_t i = 0; i < track->count; i++)
		track->steps[i].end_ns = track->steps[i + 1].start_ns;
	free(track->steps[track->count].devices);
	track->steps[track->count].devices = NULL;
	steps->count += track->count;
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

	if (left->busy_ns != right->busy_ns)
		return left->busy_ns > right->busy_ns ? -1 : 1;
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
			end_roots(steps, track);
		for (size_t n = 0; n < track->count; n++)
			track->busy_ns += track->steps[n].busy_ns;
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

int steps_build(struct view *view, struct steps_found *found, const struct steps_roots *roots,
		struct view_steps *steps, struct err *err)
{
	const struct view_sink sink = {.span = build_span};
	struct build build = {.view = view, .found = found, .steps = steps};
	size_t count = steps->track_count;
	int result = begin(&build, roots);

	if (result < 0)
		err_errno(err, result, "can't look for steps");
	else
		result = view_run(view, &sink, &build, err);
	if (result == 0 && (result = finish(&build)) < 0)
		err_errno(err, result, "can't look for steps");
	for (size_t i = 0; build.tracks && i < count; i++)
		free(build.tracks[i].moved);
	free(build.tracks);
	return result;
}
