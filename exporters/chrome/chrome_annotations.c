/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/chrome/chrome_annotations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "why/why_times.h"

#define STEP	  "ProfilerStep#"
#define DEPTH_MAX 32

/* A stretch of work on a lane that belongs to one range. */
struct stretch {
	const char *name; /* the view's */
	u64 range;
	u64 ts, end;
};

struct annotated_lane {
	struct stretch *stretches; /* by their start, the outer ones first */
	size_t count, capacity;
	size_t next;		/* to be written */
	size_t open[DEPTH_MAX]; /* places of those that the last work was in, the outermost first */
	unsigned depth;
};

/* ---- finding ---- */

static struct annotated_lane *lane_of(const struct chrome_annotations *annotations,
				      const struct view_event *event)
{
	const struct chrome_rows *rows = annotations->rows;
	const struct chrome_lane *lane = chrome_rows_lane(rows, event->row_index, event->lane);

	return lane ? &annotations->lanes[lane - rows->lanes] : NULL;
}

static bool is_step_name(const char *name)
{
	return strncmp(name, STEP, strlen(STEP)) == 0;
}

/* Those around a range and itself, the innermost first; but for the program's own steps, which readers would count again for each stream. */
static unsigned add_chain(const struct view *view, u64 number, const struct view_range **chain,
			  unsigned count)
{
	const struct view_range *range = view_range(view, number);

	for (; range && count < DEPTH_MAX; range = view_range(view, range->parent))
		if (!is_step_name(range->name))
			chain[count++] = range;
	return count;
}

static const char *step_name(struct chrome_annotations *annotations, u64 number)
{
	text_clear(&annotations->name);
	text_appendf(&annotations->name, STEP "%llu", (unsigned long long)number);
	return annotations->name.failed ? NULL : text_string(&annotations->name);
}

static int open_stretch(struct chrome_annotations *annotations, struct annotated_lane *lane,
			const struct view_range *range, u64 ts)
{
	const char *name;

	if (annotations->count == CHROME_ANNOTATIONS_MAX) {
		annotations->left_out++;
		return 0;
	}
	name = view_intern(annotations->view, range->name, strlen(range->name));
	if (!name || array_reserve(&lane->stretches, &lane->capacity, lane->count + 1) < 0)
		return -ENOMEM;
	lane->open[lane->depth++] = lane->count;
	lane->stretches[lane->count++] = (struct stretch){name, range->number, ts, ts};
	annotations->count++;
	return 0;
}

static int find_span(void *data, const struct view_event *event, struct err *err)
{
	const struct view_range *chain[DEPTH_MAX];
	struct chrome_annotations *annotations = data;
	struct annotated_lane *lane;
	unsigned count = 0, kept = 0;

	if (event->row->type != ROW_STREAM || event->kind->shape != SHAPE_SPAN)
		return 0;
	lane = lane_of(annotations, event);
	if (!lane)
		return 0;
	if (event->cause) {
		count = add_chain(annotations->view, event->cause->within.range, chain, 0);
		count = add_chain(annotations->view, event->cause->within.outer_range, chain,
				  count);
	}
	while (kept < lane->depth && kept < count &&
	       lane->stretches[lane->open[kept]].range == chain[count - 1 - kept]->number)
		kept++;
	lane->depth = kept;
	for (unsigned i = kept; i < count && lane->depth == i; i++)
		if (open_stretch(annotations, lane, chain[count - 1 - i], event->ts) < 0)
			return err_errno(err, -ENOMEM, "can't find ranges on GPUs");
	for (unsigned i = 0; i < lane->depth; i++)
		if (event->end > lane->stretches[lane->open[i]].end)
			lane->stretches[lane->open[i]].end = event->end;
	return 0;
}

static int find_steps(struct chrome_annotations *annotations, const struct view *view,
		      struct err *err)
{
	const struct view_steps *steps;
	int result = view_steps_search_end(view, &steps, err);

	if (result < 0 || !steps->track_count)
		return result;
	if (!is_step_name(steps->tracks[0].steps[0].name))
		annotations->steps = &steps->tracks[0];
	return 0;
}

int chrome_annotations_find(struct chrome_annotations *annotations, const struct view *view,
			    const struct chrome_rows *rows, struct err *err)
{
	static const u16 ranges[VIEW_ROW_KINDS_MAX] = {KIND_range, KIND_usdt_span};
	static const u16 work[VIEW_ROW_KINDS_MAX] = {VIEW_GPU_WORK};
	static const struct view_sink sink = {.span = find_span};
	struct view_part parts[2];
	size_t count = 0;
	int result;

	annotations->view = view;
	annotations->rows = rows;
	annotations->lanes = calloc(rows->lane_count + 1, sizeof(*annotations->lanes));
	if (!annotations->lanes)
		return err_errno(err, -ENOMEM, "can't find ranges on GPUs");
	result = view_steps_search_begin(view, &parts[0], err);
	if (result < 0)
		return result;
	count = parts[0].sink ? 1 : 0;
	if (view_has_any(view, work) && view_has_any(view, ranges))
		parts[count++] = (struct view_part){&sink, annotations};
	result = why_times_beside(view, parts, count, err);
	return result < 0 ? result : find_steps(annotations, view, err);
}

void chrome_annotations_free(struct chrome_annotations *annotations)
{
	for (size_t i = 0; annotations->lanes && i < annotations->rows->lane_count; i++)
		free(annotations->lanes[i].stretches);
	free(annotations->lanes);
	text_free(&annotations->name);
	*annotations = (struct chrome_annotations){0};
}

/* ---- writing ---- */

/* NULL: none goes in front of this. */
static const struct view_step *next_step(const struct chrome_annotations *annotations,
					 const struct view_event *event)
{
	const struct view_step_track *track = annotations->steps;
	const struct view_step *step;
	bool due;

	if (!track || annotations->next_step == track->count ||
	    event->row_index != track->row_index)
		return NULL;
	step = &track->steps[annotations->next_step];
	/* A range that is a step has it around itself, in its own lane. */
	if (track->spans)
		due = step->start_ns == event->ts && step->end_ns == event->end &&
		      strcmp(step->name, event->name) == 0;
	else /* What begins with a step and is larger comes first. */
		due = !event->lane && (event->ts > step->start_ns ||
				       (event->ts == step->start_ns && event->end <= step->end_ns));
	return due ? step : NULL;
}

int chrome_annotations_next(struct chrome_annotations *annotations, const struct view_event *event,
			    struct chrome_annotation *ret_annotation)
{
	const struct view_step *step = next_step(annotations, event);
	struct annotated_lane *lane;
	struct stretch *stretch;

	if (step) {
		annotations->next_step++;
		*ret_annotation = (struct chrome_annotation){
			"user_annotation", step_name(annotations, step->number), step->start_ns,
			step->end_ns - step->start_ns};
		return ret_annotation->name ? 1 : -ENOMEM;
	}
	lane = event->row->type == ROW_STREAM ? lane_of(annotations, event) : NULL;
	stretch = lane && lane->next < lane->count ? &lane->stretches[lane->next] : NULL;
	if (!stretch || stretch->ts > event->ts)
		return 0;
	lane->next++;
	*ret_annotation = (struct chrome_annotation){"gpu_user_annotation", stretch->name,
						     stretch->ts, stretch->end - stretch->ts};
	return 1;
}
