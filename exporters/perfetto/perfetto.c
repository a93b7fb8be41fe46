/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/perfetto/perfetto.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exporters/args.h"
#include "exporters/chrome/chrome_annotations.h"
#include "exporters/chrome/chrome_wakes.h"
#include "exporters/perfetto/perfetto_args.h"
#include "exporters/perfetto/perfetto_gpu.h"
#include "exporters/perfetto/perfetto_gpu_counters.h"
#include "exporters/perfetto/perfetto_heap.h"
#include "exporters/perfetto/perfetto_idle.h"
#include "exporters/perfetto/perfetto_metadata.h"
#include "exporters/perfetto/perfetto_stacks.h"
#include "exporters/perfetto/perfetto_states.h"
#include "exporters/perfetto/perfetto_tracks.h"

#define WAKE_CATEGORY "wake"
#define WAKES_FROM    (1ULL << 63) /* numbers of their flows: above those of launches */

struct perfetto {
	struct perfetto_packets packets;
	struct perfetto_tracks tracks;
	const struct view *view;
	struct chrome_rows rows;
	struct chrome_args args;
	struct chrome_annotations annotations;
	struct chrome_wakes wakes;
	struct perfetto_idle idle;
	struct perfetto_gpu gpu;
	struct perfetto_gpu_counters gpu_counters;
	struct perfetto_states states;
	struct text name; /* of the counter at hand */
};

/* ---- events ---- */

static void begin_event(struct perfetto *perfetto, unsigned type, u64 track, const char *category,
			const char *name)
{
	struct perfetto_packets *packets = &perfetto->packets;

	protobuf_number(&packets->body, EVENT_TYPE, type);
	protobuf_number(&packets->body, EVENT_TRACK, track);
	protobuf_number(&packets->body, EVENT_CATEGORY,
			perfetto_intern_constant(packets, PERFETTO_CATEGORY, category));
	protobuf_number(&packets->body, EVENT_NAME,
			perfetto_intern(packets, PERFETTO_EVENT_NAME, name));
}

static int find_track(struct perfetto *perfetto, const struct view_event *event, u64 *ret_track,
		      struct err *err)
{
	*ret_track = perfetto_tracks_lane(&perfetto->tracks, event->row_index, event->lane);
	if (!*ret_track)
		return err_set(err, -EINVAL,
			       "can't write %s: event on row %zu, lane %u, which the survey did "
			       "not find",
			       perfetto->packets.writer.path, event->row_index, event->lane);
	if (perfetto_gpu_takes(event))
		return 0;
	return perfetto_tracks_tell(&perfetto->tracks, &perfetto->packets, event->row_index, err);
}

/* What an event is besides its name: what is known of it, and its stack: its own, or that of the launch, on the call. */
static void append_details(struct perfetto *perfetto, const struct view_event *event)
{
	struct perfetto_packets *packets = &perfetto->packets;
	u32 stack = event->record->stack ? event->record->stack : event->stack.stack;

	perfetto_args_append(packets, &perfetto->args, event);
	if (stack && !event->cause)
		protobuf_number(&packets->body, EVENT_STACK,
				perfetto_stack(packets, perfetto->view, event->record->pid, stack));
}

/* Flows from what launched to what ran: one for each effect, as one number would lead from effect to effect. Which of them are work of a GPU, whose
 * flows readers make themselves, is not known yet. */
static int append_flows(struct perfetto *perfetto, const struct view_event *event, struct err *err)
{
	struct perfetto_packets *packets = &perfetto->packets;

	if (event->kind->number == KIND_overhead)
		return 0;
	if (event->cause && !event->launch)
		protobuf_fixed64(&packets->body, EVENT_FLOW_END,
				 perfetto_gpu_effect(&perfetto->gpu, event));
	if (!event->launch)
		return 0;
	if (perfetto_gpu_append_launched(&perfetto->gpu, packets, event) < 0)
		return err_errno(err, -ENOMEM, "can't write %s", packets->writer.path);
	for (u64 i = 0; i < event->effect_count; i++)
		protobuf_fixed64(&packets->body, EVENT_FLOW,
				 perfetto_gpu_effect_of(event->launch, i));
	return 0;
}

/* ---- wakes: points, at the moment when a thread was woken, on its track and on that of its waker ---- */

static int write_wake_point(struct perfetto *perfetto, const struct chrome_wake *wake, u64 track,
			    const char *name, const char *what, u32 tid, u32 flow, struct err *err)
{
	struct perfetto_packets *packets = &perfetto->packets;
	struct view_value value = {.type = VALUE_U64, .number = tid};

	begin_event(perfetto, TYPE_INSTANT, track, WAKE_CATEGORY, name);
	perfetto_args_append_value(packets, EVENT_ANNOTATION, what, &value);
	protobuf_fixed64(&packets->body, flow, WAKES_FROM + wake->number);
	return perfetto_packet_write(packets, wake->ts, PACKET_TRACK_EVENT, err);
}

static int write_wake(struct perfetto *perfetto, const struct view_event *event, u64 track,
		      struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct chrome_wake wake;
	int result;

	if (!chrome_wakes_find(&perfetto->wakes, &perfetto->rows, event, &wake))
		return 0;
	result = write_wake_point(perfetto, &wake,
				  perfetto_tracks_lane(&perfetto->tracks, wake.waker, 0), "wakes",
				  "thread", event->record->tid, EVENT_FLOW, err);
	return result < 0 ? result
			  : write_wake_point(perfetto, &wake, track, "ready", "woken by thread",
					     wait->waker_tid, EVENT_FLOW_END, err);
}

/* ---- spans ---- */

static int write_annotations(struct perfetto *perfetto, const struct view_event *event, u64 track,
			     struct err *err)
{
	const struct view_value made_by = {.type = VALUE_STRING, .string = "gpuprobe"};
	struct chrome_annotation annotation;
	int result;

	while ((result = chrome_annotations_next(&perfetto->annotations, event, &annotation)) > 0) {
		result = perfetto_tracks_tell(&perfetto->tracks, &perfetto->packets,
					      event->row_index, err);
		if (result < 0)
			return result;
		begin_event(perfetto, TYPE_BEGIN, track, annotation.category, annotation.name);
		perfetto_args_append_value(&perfetto->packets, EVENT_ANNOTATION, "made by",
					   &made_by);
		result = perfetto_packet_write_span(&perfetto->packets, annotation.ts,
						    annotation.dur, track, err);
		if (result < 0)
			return result;
	}
	return result < 0 ? err_errno(err, result, "can't write %s", perfetto->packets.writer.path)
			  : 0;
}

static int perfetto_span(void *data, const struct view_event *event, struct err *err)
{
	struct perfetto *perfetto = data;
	u64 track;
	int result = find_track(perfetto, event, &track, err);

	if (result == 0)
		result = perfetto_idle_write(&perfetto->idle, &perfetto->packets, event->ts, err);
	perfetto_packets_at(&perfetto->packets, event->ts);
	if (result == 0)
		result = write_annotations(perfetto, event, track, err);
	if (result < 0)
		return result;
	if (perfetto_gpu_takes(event))
		return perfetto_gpu_write(&perfetto->gpu, &perfetto->packets, event, err);
	begin_event(perfetto, TYPE_BEGIN, track, chrome_args_category(&perfetto->args, event),
		    event->name);
	append_details(perfetto, event);
	result = append_flows(perfetto, event, err);
	if (result == 0)
		result = perfetto_packet_write_span(&perfetto->packets, event->ts,
						    chrome_takes_no_time(event) ? 0 : event->dur,
						    track, err);
	if (result == 0)
		result = perfetto_states_write(&perfetto->states, &perfetto->packets, event, err);
	return result < 0 ? result : write_wake(perfetto, event, track, err);
}

/* ---- points and counters ---- */

static int write_value(struct perfetto *perfetto, const struct view_event *event, const char *name,
		       const struct view_value *value, struct err *err)
{
	struct perfetto_packets *packets = &perfetto->packets;
	u64 track;
	int result;

	if (event->row->type == ROW_DEVICE && perfetto_gpu_is_known(&perfetto->gpu, event->row))
		return perfetto_gpu_counters_write(&perfetto->gpu_counters, &perfetto->gpu, packets,
						   event, name, value, err);
	result = perfetto_tracks_counter(&perfetto->tracks, packets, event->row_index, name, &track,
					 err);
	if (result < 0)
		return result;
	protobuf_number(&packets->body, EVENT_TYPE, TYPE_COUNTER);
	protobuf_number(&packets->body, EVENT_TRACK, track);
	if (value->type == VALUE_DECIMAL)
		protobuf_double(&packets->body, EVENT_COUNTER_DOUBLE, value->decimal);
	else
		protobuf_number(&packets->body, EVENT_COUNTER_VALUE, value->number);
	return perfetto_packet_write(packets, event->ts, PACKET_TRACK_EVENT, err);
}

static int perfetto_point(void *data, const struct view_event *event, struct err *err)
{
	struct perfetto *perfetto = data;
	u64 track;
	int result;

	/* The calls of the API that they belong to have it. */
	if (event->kind->number == KIND_launch_stack)
		return 0;
	perfetto_packets_at(&perfetto->packets, event->ts);
	if (event->kind->number == KIND_sample)
		return perfetto_sample_write(&perfetto->packets, perfetto->view, event, err);
	if (view_annotation(perfetto->view, event) == VALUE_usdt_annotation_counter) {
		const struct view_value value = {.type = VALUE_S64,
						 .number = (u64)args_counter_value(event)};

		return write_value(perfetto, event, event->name, &value, err);
	}
	result = find_track(perfetto, event, &track, err);
	if (result < 0)
		return result;
	if (event->row->type == ROW_PROCESS)
		track = perfetto_tracks_group(&perfetto->tracks, event->row_index);
	begin_event(perfetto, TYPE_INSTANT, track, chrome_args_category(&perfetto->args, event),
		    event->name);
	append_details(perfetto, event);
	return perfetto_packet_write(&perfetto->packets, event->ts, PACKET_TRACK_EVENT, err);
}

static int perfetto_counter(void *data, const struct view_event *event, struct err *err)
{
	struct perfetto *perfetto = data;
	struct view_value value;
	const char *what;
	size_t place = 0;
	int result = 0;

	perfetto_packets_at(&perfetto->packets, event->ts);
	while (result == 0 && (what = chrome_args_next(&perfetto->args, event, &place, &value))) {
		text_clear(&perfetto->name);
		text_append(&perfetto->name, event->name);
		if (strcmp(what, "value") != 0)
			text_appendf(&perfetto->name, " %s", what);
		result = write_value(perfetto, event, text_string(&perfetto->name), &value, err);
	}
	return result;
}

/* Sums over a time stand as a point where that time begins, but for those that Chrome traces leave out too, and for allocations by stack, which are
 * profiles: of points at one moment readers show 512. */
static int perfetto_total(void *data, const struct view_event *event, struct err *err)
{
	struct perfetto *perfetto = data;

	if (event->kind->number != KIND_heap_stack)
		return chrome_total_is_drawn(event) ? perfetto_point(data, event, err) : 0;
	perfetto_packets_at(&perfetto->packets, event->ts);
	return perfetto_heap_write(&perfetto->packets, perfetto->view, event, err);
}

/* ---- begin and end ---- */

static int perfetto_open(void *data, const struct view *view, const struct view_survey *survey,
			 struct err *err)
{
	struct perfetto *perfetto = data;
	struct perfetto_packets *packets = &perfetto->packets;
	int result;

	perfetto->view = view;
	result = chrome_args_find(&perfetto->args, view, err);
	if (result == 0)
		result = chrome_rows_make(&perfetto->rows, survey, false, err);
	if (result == 0)
		result =
			chrome_annotations_find(&perfetto->annotations, view, &perfetto->rows, err);
	if (result == 0)
		result = perfetto_write_clocks(packets, survey, err);
	if (result == 0)
		result = perfetto_tracks_make(&perfetto->tracks, packets, &perfetto->rows, view,
					      err);
	if (result == 0)
		result = perfetto_gpu_make(&perfetto->gpu, packets, view, err);
	if (result == 0)
		result = perfetto_idle_make(&perfetto->idle, packets, &perfetto->tracks, view, err);
	if (result == 0)
		result = perfetto_write_recording(packets, perfetto->tracks.own, view, err);
	return result;
}

static int perfetto_close(void *data, struct err *err)
{
	struct perfetto *perfetto = data;
	int result = perfetto_idle_write(&perfetto->idle, &perfetto->packets, ~0ULL, err);

	if (result < 0)
		return result;
	return perfetto_gpu_counters_end(&perfetto->gpu_counters, &perfetto->packets,
					 view_survey(perfetto->view)->window_end_ns, err);
}

const struct view_sink perfetto_sink = {
	.open = perfetto_open,
	.span = perfetto_span,
	.point = perfetto_point,
	.counter = perfetto_counter,
	.total = perfetto_total,
	.close = perfetto_close,
};

int perfetto_create(const char *path, bool gzip, void **ret_data, struct err *err)
{
	struct perfetto *perfetto _cleanup_free_ = calloc(1, sizeof(*perfetto));
	int result;

	if (!perfetto)
		return err_set(err, -ENOMEM, "can't write %s: out of memory", path);
	result = writer_create(&perfetto->packets.writer, path, gzip, err);
	if (result < 0)
		return result;
	*ret_data = take_pointer(&perfetto);
	return 0;
}

int perfetto_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err)
{
	struct perfetto *perfetto = data;
	int result = writer_finish(&perfetto->packets.writer, commit, ret_size_bytes, err);

	perfetto_packets_free(&perfetto->packets);
	perfetto_tracks_free(&perfetto->tracks);
	chrome_args_free(&perfetto->args);
	chrome_annotations_free(&perfetto->annotations);
	chrome_wakes_free(&perfetto->wakes);
	perfetto_idle_free(&perfetto->idle);
	perfetto_gpu_free(&perfetto->gpu);
	perfetto_gpu_counters_free(&perfetto->gpu_counters);
	perfetto_states_free(&perfetto->states);
	chrome_rows_free(&perfetto->rows);
	text_free(&perfetto->name);
	free(perfetto);
	return result;
}
