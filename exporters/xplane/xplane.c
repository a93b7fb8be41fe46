/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "exporters/args.h"
#include "exporters/xplane/input_stages.h"
#include "exporters/xplane/kernel_precision.h"
#include "exporters/xplane/xplane_file.h"
#include "exporters/xplane/xplane_hlo.h"
#include "exporters/xplane/xplane_idle.h"
#include "exporters/xplane/xplane_memory.h"
#include "exporters/xplane/xplane_messages.h"
#include "exporters/xplane/xplane_ops.h"
#include "exporters/xplane/xplane_rows.h"
#include "exporters/xplane/xplane_steps.h"
#include "exporters/xplane/xplane_values.h"

/* Above the ids of names of events, which readers would mix them up with. */
#define FIRST_STAGE_ID 1000000000LL

struct xplane {
	const char *path;
	const struct view *view;
	struct xplane_rows rows;
	struct xplane_values values;
	struct xplane_ops ops;
	const struct view_key *short_name; /* of kernels */
	struct input_stages stages;
	struct xplane_hlo hlo;
	struct kernel_precision precision;
	struct xplane_memory memory;
	struct xplane_steps steps;
	struct xplane_idle idle;
	struct xplane_messages messages;
	struct spool_store store;
	u32 *work; /* of each place: bits of stream_work[] */
	struct xplane_event event, counter;
	struct text arguments;	  /* of the event at hand */
	struct text counter_name; /* likewise */
};

/* What runs on a stream stands in its name, in the words of XLA; "Compute" makes readers draw it first. */
static const struct {
	u16 kind;
	const char *name; /* of the event; NULL: any */
	const char *word;
} stream_work[] = {
	{KIND_kernel, NULL, "Compute"},
	{KIND_copy, "MemcpyHtoD", "MemcpyH2D"},
	{KIND_copy, "MemcpyDtoH", "MemcpyD2H"},
	{KIND_copy, "MemcpyDtoD", "MemcpyD2D"},
	{KIND_copy, "MemcpyDtoD (peer)", "MemcpyP2P"},
	{KIND_copy, NULL, "MemcpyOther"},
	{KIND_set, NULL, "Memset"},
	{KIND_graph_launch, NULL, "CudaGraph"},
};

static u32 work_of(const struct view_event *event, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(stream_work); i++)
		if (event->kind->number == stream_work[i].kind &&
		    (!stream_work[i].name || !strcmp(stream_work[i].name, name)))
			return 1U << i;
	return 0;
}

static u64 offset_of(const struct xplane *xplane, const struct view_event *event)
{
	return event->ts > xplane->rows.start_ns ? event->ts - xplane->rows.start_ns : 0;
}

static const struct xplane_place *place_of(const struct xplane *xplane,
					   const struct view_event *event, struct err *err)
{
	const struct xplane_place *place =
		xplane_rows_place(&xplane->rows, event->row_index, event->lane);

	if (!place)
		err_set(err, -EINVAL,
			"can't write %s: event on row %zu, lane %u, which the survey did not find",
			xplane->path, event->row_index, event->lane);
	return place;
}

static int no_memory(const struct xplane *xplane, struct err *err)
{
	return err_errno(err, -ENOMEM, "can't write %s", xplane->path);
}

static const char *operation_of(struct xplane *xplane, const struct view_event *event)
{
	const char *short_name = NULL;

	if (event->kind->number == KIND_kernel)
		short_name = view_value(xplane->view, xplane->short_name, event).string;
	return xplane_ops_of(&xplane->ops, xplane->view, event, short_name);
}

/* Of work on a GPU, by which readers sum it up. */
static int add_operation(struct xplane *xplane, const struct view_event *event, size_t plane)
{
	const char *operation = NULL, *source;

	if (event->row->type != ROW_STREAM || event->kind->shape != SHAPE_SPAN)
		return 0;
	if (event->cause || event->kind->number == KIND_kernel) {
		operation = operation_of(xplane, event);
		if (!operation ||
		    !xplane_event_add_reference(&xplane->event, &xplane->rows.planes[plane],
						"tf_op", operation))
			return -ENOMEM;
	}
	if (xplane_stacks_source(&xplane->values.stacks, event, &xplane->rows.planes[plane],
				 &source))
		return -ENOMEM;
	return xplane_hlo_add(&xplane->hlo, event, plane, operation, source, &xplane->event);
}

/* In one string: a name that the target chose could be one that readers take for theirs. */
static int add_arguments(struct xplane *xplane, const struct view_event *event,
			 struct xplane_plane *plane)
{
	struct text *text = &xplane->arguments;

	text_clear(text);
	args_append_tail(text, xplane->view, event, 0);
	if (text->failed)
		return -ENOMEM;
	if (!text->length)
		return 0;
	return xplane_event_add_string(&xplane->event, plane, "arguments", text->data) ? 0
										       : -ENOMEM;
}

/* Of the host's input: by the id readers know stages, by the category what they are. */
static int add_stage(struct xplane *xplane, const struct view_event *event,
		     struct xplane_plane *plane)
{
	static const char *const categories[] = {
		[INPUT_STAGE_READ] = "Read",
		[INPUT_STAGE_PREPROCESSING] = "Preprocessing",
		[INPUT_STAGE_ENQUEUE] = "Enqueue",
		[INPUT_STAGE_OTHER] = "Unknown",
	};
	enum input_stage stage;
	int result = input_stages_find(&xplane->stages, event, &stage);

	if (result < 0 || stage == INPUT_STAGE_NONE || event->kind->shape != SHAPE_SPAN)
		return result;
	return xplane_event_add_s64(&xplane->event, plane, "_ipl_stage_id",
				    FIRST_STAGE_ID + xplane->event.message.metadata_id) &&
			       xplane_event_add_reference(&xplane->event, plane, "_ipl_stage_cat",
							  categories[stage])
		       ? 0
		       : -ENOMEM;
}

/* By this readers know 16-bit work; without it they look for "half" and "fp16" in the name. */
static int add_precision(struct xplane *xplane, const struct view_event *event,
			 struct xplane_plane *plane)
{
	bool half;
	int result;

	if (event->kind->number != KIND_kernel)
		return 0;
	result = kernel_precision_find(&xplane->precision, event, &half);
	if (result < 0 || !half)
		return result;
	return xplane_event_add_reference(&xplane->event, plane, "shape", "half (16-bit)")
		       ? 0
		       : -ENOMEM;
}

/* One event on its line; dur: 0 where it is a moment. */
static int add_event(struct xplane *xplane, const struct view_event *event, u64 dur_ns,
		     struct err *err)
{
	const struct xplane_place *place = place_of(xplane, event, err);
	struct xplane_plane *plane = place ? &xplane->rows.planes[place->plane] : NULL;
	const char *name;
	int result;

	if (!place)
		return -EINVAL;
	result = xplane_steps_before(&xplane->steps, event, err);
	if (result < 0)
		return result;
	name = xplane_values_name(&xplane->values, event);
	if (!xplane_event_begin(&xplane->event, plane, name, offset_of(xplane, event), dur_ns))
		return no_memory(xplane, err);
	/* Readers leave work out that takes no time: a picosecond, which adds up to nothing. */
	if (event->kind->row == ROW_STREAM && event->kind->shape == SHAPE_SPAN && !dur_ns)
		xplane->event.message.duration_ps = 1;
	xplane->work[place - xplane->rows.places] |= work_of(event, name);
	if (add_operation(xplane, event, place->plane) < 0 ||
	    xplane_values_add(&xplane->values, event, plane, &xplane->event) < 0 ||
	    xplane_values_add_stack(&xplane->values, event, plane, &xplane->event) ||
	    add_precision(xplane, event, plane) < 0 || add_arguments(xplane, event, plane) < 0 ||
	    add_stage(xplane, event, plane) < 0)
		return no_memory(xplane, err);
	result = xplane_steps_mark(&xplane->steps, event, plane, &xplane->event, err);
	if (result < 0)
		return result;
	result = xplane_line_add(&plane->lines[place->line], &xplane->store, &xplane->event, err);
	if (result == 0 && plane->lines[place->line].events.size_bytes > XPLANE_FILE_BYTES_MAX)
		result = xplane_too_large(xplane->path, err);
	return result;
}

static int xplane_span(void *data, const struct view_event *event, struct err *err)
{
	return add_event(data, event, event->dur, err);
}

/* Memory of GPUs is shown as what it is, and once more as the Memory Profile reads it. */
static int add_memory(struct xplane *xplane, const struct view_event *event, struct err *err)
{
	const struct xplane_place *place = place_of(xplane, event, err);
	struct xplane_memory_target target = {.store = &xplane->store,
					      .offset_ns = offset_of(xplane, event)};

	if (!place)
		return -EINVAL;
	target.plane = &xplane->rows.planes[place->plane];
	target.line = xplane_rows_memory(&xplane->rows, place);
	if (event->cause) {
		target.operation = operation_of(xplane, event);
		if (!target.operation)
			return no_memory(xplane, err);
	}
	return xplane_memory_add(&xplane->memory, xplane->view, event, &target, err);
}

/* A counter of gpuprobe.h. */
static int add_user_counter(struct xplane *xplane, const struct view_event *event, struct err *err)
{
	const struct xplane_place *place = place_of(xplane, event, err);
	struct xplane_plane *plane = place ? &xplane->rows.planes[place->plane] : NULL;
	const char *name;

	if (!place)
		return -EINVAL;
	name = xplane_counter_name(xplane_values_name(&xplane->values, event),
				   &xplane->counter_name);
	if (!xplane_event_begin(&xplane->counter, plane, name, offset_of(xplane, event), 0) ||
	    !xplane_event_add_double(&xplane->counter, plane, "value", args_counter_value(event)))
		return no_memory(xplane, err);
	return xplane_line_add(xplane_rows_counters(&xplane->rows, place), &xplane->store,
			       &xplane->counter, err);
}

static int xplane_point(void *data, const struct view_event *event, struct err *err)
{
	/* Of no use on a time line of operations; reports have them. */
	static const u16 left_out[VIEW_ROW_KINDS_MAX] = {KIND_sample, KIND_thread_time,
							 KIND_short_wait, KIND_launch_stack};
	struct xplane *xplane = data;
	int result;

	if (view_row_is_of(left_out, event->kind->number))
		return 0;
	if (view_annotation(xplane->view, event) == VALUE_usdt_annotation_counter)
		return add_user_counter(xplane, event, err);
	result = add_event(data, event, 0, err);

	if (result == 0 && event->kind->number == KIND_gpu_memory)
		result = add_memory(data, event, err);
	return result;
}

/* Each value is a counter of its own, as XLA writes them: an event and a stat with one name. */
static int xplane_counter(void *data, const struct view_event *event, struct err *err)
{
	struct xplane *xplane = data;
	const struct xplane_place *place = place_of(xplane, event, err);
	struct xplane_plane *plane = place ? &xplane->rows.planes[place->plane] : NULL;
	bool have_names = xplane_values_have_names(&xplane->values, event);
	int result = 0;

	if (!place)
		return -EINVAL;
	if (!xplane_event_begin(&xplane->event, plane, xplane_values_name(&xplane->values, event),
				0, 0) ||
	    xplane_values_add(&xplane->values, event, plane, &xplane->event) < 0)
		return no_memory(xplane, err);
	for (size_t i = 0; i < xplane->event.message.n_stats && result == 0; i++) {
		s64 id = xplane->event.stats[i].metadata_id;
		const char *name = have_names ? plane->stat_names.strings[id - 1]
					      : xplane_values_name(&xplane->values, event);
		xplane_stat *stat;

		name = xplane_counter_name(name, &xplane->counter_name);
		if (!xplane_event_begin(&xplane->counter, plane, name, offset_of(xplane, event), 0))
			return no_memory(xplane, err);
		stat = xplane_event_stat(&xplane->counter, id);
		stat->value_case = xplane->event.stats[i].value_case;
		stat->double_value = xplane->event.stats[i].double_value;
		result = xplane_line_add(xplane_rows_counters(&xplane->rows, place), &xplane->store,
					 &xplane->counter, err);
	}
	return result;
}

static int xplane_open(void *data, const struct view *view, const struct view_survey *survey,
		       struct err *err)
{
	struct xplane *xplane = data;
	int result;

	xplane->view = view;
	result = xplane_values_find(&xplane->values, view, err);
	if (result == 0)
		result = view_key(view, "xplane", schema_kind(KIND_kernel), "short_name",
				  &xplane->short_name, err);
	if (result == 0)
		result = xplane_rows_make(&xplane->rows, view, survey, err);
	if (result == 0)
		result = xplane_hlo_open(&xplane->hlo, &xplane->rows, err);
	if (result == 0)
		result =
			xplane_steps_find(&xplane->steps, view, &xplane->rows, &xplane->store, err);
	if (result == 0)
		result = xplane_idle_find(&xplane->idle, view, &xplane->rows, err);
	if (result < 0)
		return result;
	xplane->work = calloc(xplane->rows.place_count + 1, sizeof(*xplane->work));
	return xplane->work ? 0 : no_memory(xplane, err);
}

/* "Stream #7(Compute,MemcpyH2D)" */
static int name_streams(struct xplane *xplane)
{
	for (size_t i = 0; i < xplane->rows.place_count; i++) {
		struct xplane_place place = xplane->rows.places[i];
		struct text *name = &xplane->rows.planes[place.plane].lines[place.line].name;
		const char *separator = "(";

		for (size_t j = 0; j < ARRAY_SIZE(stream_work); j++) {
			if (!(xplane->work[i] >> j & 1))
				continue;
			text_append(name, separator);
			text_append(name, stream_work[j].word);
			separator = ",";
		}
		if (xplane->work[i])
			text_append_char(name, ')');
		if (name->failed)
			return -ENOMEM;
	}
	return 0;
}

static int xplane_close(void *data, struct err *err)
{
	struct xplane *xplane = data;
	int result;

	if (name_streams(xplane) < 0)
		return no_memory(xplane, err);
	result = xplane_steps_close(&xplane->steps, err);
	if (result == 0)
		result = xplane_hlo_close(&xplane->hlo, xplane->view, err);
	if (result == 0)
		result = xplane_memory_close(&xplane->memory, &xplane->rows, err);
	if (result == 0)
		result = xplane_idle_write(&xplane->idle, &xplane->rows, &xplane->store, err);
	if (result < 0)
		return result;
	if (xplane_messages_make(&xplane->messages, view_survey(xplane->view)) < 0 ||
	    xplane_steps_tell(&xplane->steps, &xplane->messages.warnings) < 0 ||
	    xplane_hlo_tell(&xplane->hlo, &xplane->messages.warnings) < 0 ||
	    xplane_memory_tell(&xplane->memory, &xplane->messages.warnings) < 0 ||
	    xplane_idle_tell(&xplane->idle, &xplane->messages.warnings) < 0)
		return no_memory(xplane, err);
	return 0;
}

/* Sums over a time have no place on a time line: as in the other traces they stand where it begins. */
const struct view_sink xplane_sink = {
	.open = xplane_open,
	.span = xplane_span,
	.point = xplane_point,
	.counter = xplane_counter,
	.total = xplane_point,
	.close = xplane_close,
};

int xplane_create(const char *path, bool gzip, void **ret_data, struct err *err)
{
	struct xplane *xplane = calloc(1, sizeof(*xplane));

	if (!xplane)
		return err_errno(err, -ENOMEM, "can't write %s", path);
	xplane->path = path;
	xplane->store = (struct spool_store)SPOOL_STORE_INIT;
	*ret_data = xplane;
	return 0;
}

int xplane_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err)
{
	struct xplane *xplane = data;
	int result = 0;

	if (commit)
		result = xplane_files_write(xplane->path, xplane->view, &xplane->rows,
					    &xplane->messages, &xplane->store, ret_size_bytes, err);
	xplane_hlo_free(&xplane->hlo);
	xplane_rows_free(&xplane->rows);
	xplane_values_free(&xplane->values);
	xplane_ops_free(&xplane->ops);
	input_stages_free(&xplane->stages);
	kernel_precision_free(&xplane->precision);
	xplane_memory_free(&xplane->memory);
	xplane_steps_free(&xplane->steps);
	xplane_idle_free(&xplane->idle);
	xplane_messages_free(&xplane->messages);
	spool_store_close(&xplane->store);
	text_free(&xplane->arguments);
	text_free(&xplane->counter_name);
	free(xplane->work);
	free(xplane);
	return result;
}
