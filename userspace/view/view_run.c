/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver of a view: the two passes over the events, and which part of it does what with each of them. */
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "store/capture_ahead.h"
#include "view/view_forwards.h"
#include "view/view_parts.h"

/* One pass over the events. Survey and run do the same, so that what the survey promised holds. */
struct walk {
	struct view *view;
	struct capture_ahead *cursor;
	struct view_lanes lanes;
	struct view_causes causes;
	struct view_matmuls matmuls;
	struct matrix_kernels kernels;		 /* of the survey */
	struct view_launch_stacks launch_stacks; /* of the survey */
	struct view_contexts contexts;
	struct view_forwards forwards; /* of a run */
	struct view_counters counters;
	bool survey; /* rows are found now */
	u64 outside_window;
	u64 steps;
};

static bool calls_left_out(const struct view *view)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_loss, &count);

	for (size_t i = 0; i < count; i++) {
		u8 reason = ((const struct record_loss *)facts[i])->reason;

		/* A budget may have ended them too (session/session_gpu_cost.c). */
		if (reason == VALUE_loss_reason_events_capped ||
		    reason == VALUE_loss_reason_switched_off)
			return true;
	}
	return false;
}

static int walk_init(struct walk *walk, struct view *view, bool survey, struct err *err)
{
	*walk = (struct walk){.view = view, .survey = survey, .contexts.view = view};
	view_causes_init(&walk->causes, 0, 0);
	walk->causes.launches.surveyed = survey ? NULL : &view->causes.launches;
	walk->causes.calls_left_out = calls_left_out(view);
	view_matmuls_init(&walk->matmuls, view, survey);
	if (survey)
		view_launch_stacks_init(&walk->launch_stacks, view);
	else
		view_forwards_init(&walk->forwards, view);
	if (!survey)
		walk->causes.stacks = &view->launch_stacks;
	view_counters_init(&walk->counters, view);
	return capture_ahead_open(view->reader, CAPTURE_AHEAD_BYTES_MIN, &walk->cursor, err);
}

static void walk_free(struct walk *walk)
{
	capture_ahead_free(walk->cursor);
	view_lanes_free(&walk->lanes);
	view_causes_free(&walk->causes);
	view_matmuls_free(&walk->matmuls);
	view_launch_stacks_free(&walk->launch_stacks);
	matrix_kernels_free(&walk->kernels);
	view_contexts_free(&walk->contexts);
	view_forwards_free(&walk->forwards);
	view_counters_free(&walk->counters);
}

/* ---- one event ---- */

static u64 add_saturated(u64 a, u64 b)
{
	return a + b < a ? ~0ULL : a + b;
}

/* A span whose end nobody saw. That it was recorded no more is told by its own field, and until when it was open by its duration. */
static bool is_open(const struct view_event *event)
{
	const struct record_header *record = event->record;

	if (event->kind->shape != SHAPE_SPAN)
		return false;
	if (event->kind->number == KIND_off_cpu &&
	    ((const struct record_off_cpu *)record)->ended == VALUE_off_cpu_ended_unseen)
		return true;
	if (event->kind->number == KIND_usdt_span &&
	    ((const struct record_usdt_span *)record)->ended == VALUE_usdt_ended_open)
		return true;
	return record->dur == RECORD_DURATION_OPEN;
}

static void event_times(const struct view *view, struct view_event *event)
{
	const struct record_header *record = event->record;
	u64 window_end = view->survey.window_end_ns;

	event->ts = record->ts;
	event->open = is_open(event);
	if (event->open && record->dur == RECORD_DURATION_OPEN)
		event->dur = window_end > event->ts ? window_end - event->ts : 0;
	else if (record->dur != RECORD_DURATION_OPEN)
		event->dur = record->dur;
	event->end = add_saturated(event->ts, event->dur);
	event->dur = event->end - event->ts;
}

/* Calls nest. Work of a GPU overlaps, and is no call of what it overlaps. */
static bool rows_nest(enum record_row row)
{
	return row == ROW_THREAD || row == ROW_PROCESS;
}

/* What the event lies in on its thread, and what it belongs to. */
static int walk_paths(struct walk *walk, const struct view_event *event, u32 *ret_path,
		      struct view_within *ret_within)
{
	struct view *view = walk->view;
	int result;

	if (walk->survey)
		return view_contexts_survey(&walk->contexts, event, ret_path);
	result = view_paths_add(&view->paths, event, ret_path);
	if (result == 0)
		result = view_contexts_add(&walk->contexts, &view->contexts, &view->paths, event,
					   *ret_path, ret_within);
	if (result == 0)
		result = view_forwards_add(&walk->forwards, event, ret_within);
	return result;
}

static int walk_event(struct walk *walk, const struct record_header *record,
		      struct view_event *event)
{
	struct view *view = walk->view;
	const struct view_kind *kind = &view->kinds.kinds[record->kind];
	s64 row = view_rows_find(&view->rows, kind, record, walk->survey);
	struct view_within within = {0};
	u32 path = 0;
	int result = 0;

	if (row < 0)
		return row;
	*event = (struct view_event){
		.record = record,
		.kind = kind->kind,
		.name = view_event_name(view, kind, record),
		.row = &view->rows.rows[row],
		.row_index = row,
	};
	event_times(view, event);
	if (kind->kind->shape == SHAPE_SPAN)
		result = view_lanes_place(&walk->lanes, row, rows_nest(kind->kind->row), event->ts,
					  event->end, &event->lane, &event->depth);
	if (result == 0)
		result = walk_paths(walk, event, &path, &within);
	if (result == 0)
		result = view_matmuls_add(&walk->matmuls, event);
	if (result == 0)
		result = view_causes_add(&walk->causes, kind, event, path, &within, &walk->matmuls);
	if (result == 0 && walk->survey)
		result = view_launch_stacks_add(&walk->launch_stacks, event);
	if (result == 0 && walk->survey)
		view_contexts_survey_work(&walk->contexts, event);
	if (!walk->survey && record->kind == KIND_sample)
		event->weight_ns = view_samples_weight(&view->samples, record);
	if (!walk->survey) {
		event->stack = view_launch_stacks_get(&view->launch_stacks, event->launch);
		view_forwards_note_launch(&walk->forwards, event);
		event->effect_count = view_causes_effects(&view->causes, event->launch);
		event->launch = event->effect_count ? event->launch : 0;
	}
	return result;
}

/* Before each cudaLaunchKernel, for CUPTI to tell the kernel's name: what gpu/cupti/api_calls.def never records. */
#define PROFILER_CALL "cuKernelGetName"

static bool is_of_profiler(const struct view *view, const struct record_header *record)
{
	const char *name = record->kind == KIND_api ? view_text(view, record->name) : NULL;

	return name && !strncmp(name, PROFILER_CALL, strlen(PROFILER_CALL));
}

#define STEPS_BETWEEN_LOOKS 4096 /* at the stop flag */

/* 1 and the next event inside the window, 0 at the end. */
static int walk_next(struct walk *walk, struct view_event *event, struct err *err)
{
	const struct view_survey *survey = &walk->view->survey;
	const struct record_header *record;
	int result;

	if (walk->steps++ % STEPS_BETWEEN_LOOKS == 0 && stop_requested())
		return err_set(err, -EINTR, "interrupted");
	while ((result = capture_ahead_next(walk->cursor, &record, err)) > 0) {
		if (record->ts < survey->window_start_ns || record->ts > survey->window_end_ns) {
			walk->outside_window++;
			continue;
		}
		if (view_own_has(walk->view, record) || view_causes_is_poll(&walk->causes, record))
			continue;
		if (walk->view->leaves_out_calls && is_of_profiler(walk->view, record)) {
			walk->view->profiler_call_count += walk->survey;
			continue;
		}
		result = walk_event(walk, record, event);
		/* The capture was changed after the survey: a row that was not there then. */
		if (result == -ENOENT)
			continue;
		if (result < 0)
			return err_errno(err, result, "can't read the capture");
		return 1;
	}
	return result;
}

/* ---- survey ---- */

static bool is_range(const struct view_event *event)
{
	return event->kind->number == KIND_range || event->kind->number == KIND_process_range;
}

/* What says that a thread did something, and not only that it was there. */
static bool is_work(u16 kind)
{
	return kind != KIND_off_cpu && kind != KIND_short_wait && kind != KIND_thread_time;
}

static u64 waits_in(const struct view_event *event)
{
	const struct record_short_wait *many = (const void *)event->record;

	if (event->kind->number == KIND_short_wait)
		return many->waits == ~0ULL ? 0 : many->waits;
	return event->kind->number == KIND_off_cpu;
}

static void survey_count(struct view *view, const struct view_event *event)
{
	struct view_survey *survey = &view->survey;
	struct view_rows *rows = &view->rows;
	u64 *const counts[] = {
		[SHAPE_SPAN] = &survey->span_count,
		[SHAPE_POINT] = &survey->point_count,
		[SHAPE_COUNTER] = &survey->counter_count,
		[SHAPE_TOTAL] = &survey->total_count,
	};
	u64 end = event->open ? event->ts : event->end;

	(*counts[event->kind->shape])++;
	view->unnamed_range_count += is_range(event) && !event->record->name;
	view->kinds.kinds[event->kind->number].event_count++;
	survey->wait_count += waits_in(event);
	if (!survey->event_count++)
		survey->first_ns = event->ts;
	survey->last_ns = end > survey->last_ns ? end : survey->last_ns;
	rows->rows[event->row_index].event_count++;
	rows->rows[event->row_index].span_count += event->kind->shape == SHAPE_SPAN;
	rows->rows[event->row_index].work_count += is_work(event->kind->number);
}

static void survey_window(struct view *view)
{
	struct view_survey *survey = &view->survey;
	size_t count;
	const struct record_header *const *windows = view_facts(view, KIND_window, &count);
	u64 first = 0, last = 0;

	capture_reader_range(view->reader, &first, &last);
	survey->window_start_ns = first;
	survey->window_end_ns = last;
	if (!count)
		return;
	/* The last one says most: it is written when the window opens and again when it closes. */
	survey->window_start_ns = windows[count - 1]->ts;
	if (windows[count - 1]->dur != RECORD_DURATION_OPEN)
		survey->window_end_ns =
			add_saturated(windows[count - 1]->ts, windows[count - 1]->dur);
	else if (last < windows[count - 1]->ts)
		survey->window_end_ns = windows[count - 1]->ts;
}

static void survey_clock(struct view *view)
{
	size_t count;
	const struct record_header *const *clocks = view_facts(view, KIND_clock, &count);

	if (count)
		view->survey.realtime_offset_ns =
			((const struct record_clock *)clocks[0])->realtime_ns - clocks[0]->ts;
}

static int survey_attributes(struct view *view)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_attribute, &count);

	view->attributes = calloc(count + 1, sizeof(*view->attributes));
	if (!view->attributes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct record_attribute *fact = (const struct record_attribute *)facts[i];
		const struct schema_enum_value *group = schema_enum("attribute_group", fact->group);
		const char *key = view_text(view, fact->header.name);
		const char *value = view_text(view, fact->value);

		view->attributes[i] = (struct view_attribute){
			.group = group ? group->tag : "unknown",
			.key = key ? key : "",
			.value = value ? value : "",
		};
	}
	view->survey.attributes = view->attributes;
	view->survey.attribute_count = count;
	return 0;
}

/* A cut recording that went through a text form is a whole capture that says so. */
static bool survey_is_cut(const struct view *view)
{
	for (size_t i = 0; i < view->ledger.count; i++)
		if (view->ledger.losses[i].reason == VALUE_loss_reason_recording_cut)
			return true;
	return capture_reader_cut(view->reader);
}

static int survey_finish(struct view *view, struct walk *walk)
{
	struct view_survey *survey = &view->survey;
	int result;

	/* What launched something is known only now. */
	view->causes = walk->causes;
	walk->causes = (struct view_causes){0};
	result = view_launch_stacks_finish(&walk->launch_stacks);
	if (result < 0)
		return result;
	view->launch_stacks = walk->launch_stacks;
	walk->launch_stacks = (struct view_launch_stacks){0};
	view->counters = walk->counters;
	walk->counters = (struct view_counters){0};
	view_causes_finish(&view->causes);
	view_recordings_finish(&view->recordings);
	for (size_t i = 0; i < view->rows.count; i++)
		view->rows.rows[i].lane_count = view_lanes_count(&walk->lanes, i);
	result = view_rows_finish(view);
	view->contexts = walk->contexts;
	walk->contexts = (struct view_contexts){0};
	if (result == 0)
		result = view_contexts_finish(&view->contexts, view->rows.rows, view->rows.count);
	if (result == 0)
		result = survey_attributes(view);
	if (result == 0)
		result =
			view_ledger_init(view, &view->causes, &walk->kernels, walk->outside_window);
	survey->rows = view->rows.rows;
	survey->row_count = view->rows.count;
	survey->losses = view->ledger.losses;
	survey->loss_count = view->ledger.count;
	survey->cut = survey_is_cut(view);
	return result;
}

static int view_survey_events(struct view *view, struct err *err)
{
	struct view_event event;
	struct walk walk;
	int result = walk_init(&walk, view, true, err);

	if (result < 0)
		return result;
	while ((result = walk_next(&walk, &event, err)) > 0) {
		survey_count(view, &event);
		view_recorded_survey(&view->recorded, &event);
		if (event.kind->number == KIND_gpu_event &&
		    view_recordings_add(&view->recordings, event.record) < 0)
			result = err_errno(err, -ENOMEM, "can't look over the events");
		else if (event.kind->number == KIND_kernel &&
			 matrix_kernels_add(&walk.kernels, event.name, event.dur, event.has_sizes) <
				 0)
			result = err_errno(err, -ENOMEM, "can't look over the events");
		else
			result = view_counters_advance(&walk.counters, event.ts, err);
		if (result == 0)
			result = view_counters_add(&walk.counters, &event, err);
		if (result == 0 && (view_samples_survey(&view->samples, event.record) < 0 ||
				    view_wall_survey(view->wall, &event) < 0))
			result = err_errno(err, -ENOMEM, "can't look over the events");
		if (result < 0)
			break;
	}
	if (result == 0)
		result = view_counters_advance(&walk.counters, ~0ULL, err);
	if (result == 0) {
		result = survey_finish(view, &walk);
		if (result < 0)
			err_errno(err, result, "can't read the capture");
	}
	walk_free(&walk);
	return result;
}

int view_open(struct capture_reader *reader, struct view **ret_view, struct err *err)
{
	struct view *view = calloc(1, sizeof(*view));
	int result = -ENOMEM;

	if (!view)
		return err_errno(err, -ENOMEM, "can't read the capture");
	view->reader = reader;
	/* Whoever writes that fact records such calls no more; what other tools recorded is theirs. */
	view->leaves_out_calls = !capture_reader_knew(reader, "recording_end");
	view->keys = calloc(1, sizeof(*view->keys));
	view->wall = calloc(1, sizeof(*view->wall));
	if (view->keys && view->wall)
		result = view_kinds_init(&view->kinds);
	if (result == 0)
		result = view_names_init(view);
	if (result == 0)
		result = view_event_names_add_symbols(view);
	if (result == 0)
		result = view_frames_init(view);
	if (result == 0)
		result = view_kernel_sources_init(view);
	if (result == 0)
		result = view_own_init(view);
	if (result == 0)
		result = view_occupancies_init(view);
	if (result < 0) {
		view_free(view);
		return err_errno(err, result, "can't read the capture");
	}
	survey_window(view);
	survey_clock(view);
	if (view_recorded_init(view) < 0) {
		view_free(view);
		return err_errno(err, -ENOMEM, "can't read the capture");
	}
	result = view_survey_events(view, err);
	if (result < 0) {
		view_free(view);
		return result;
	}
	*ret_view = view;
	return 0;
}

struct view *view_free(struct view *view)
{
	if (!view)
		return NULL;
	free(view->kinds.kinds);
	view_rows_free(&view->rows);
	view_names_free(view->names);
	view_keys_free(view->keys);
	view_frames_free(view->frames);
	view_kernel_sources_free(view->kernel_sources);
	view_own_free(&view->own);
	view_recorded_free(&view->recorded);
	free(view->occupancies);
	view_companions_free(view->companions);
	view_ledger_free(&view->ledger);
	view_causes_free(&view->causes);
	view_launch_stacks_free(&view->launch_stacks);
	view_recordings_free(&view->recordings);
	view_samples_free(&view->samples);
	view_wall_free(view->wall);
	view_counters_free(&view->counters);
	view_contexts_free(&view->contexts);
	view_paths_free(&view->paths);
	free(view->attributes);
	free(view);
	return NULL;
}

/* ---- events ---- */

typedef int view_event_function(void *data, const struct view_event *event, struct err *err);

/* One run through a sink. */
struct run {
	struct walk walk;
	struct view_ends ends;
	const struct view_sink *sink;
	void *data;
	bool computes; /* counters */
};

/* Ends and counters come between the events. */
static int run_computed(void *data, const struct view_event *event, struct err *err)
{
	struct run *run = data;
	int result = 0;

	if (run->sink->end)
		result = view_ends_flush(&run->ends, event->ts, run->sink, run->data, err);
	return result < 0 ? result : run->sink->counter(run->data, event, err);
}

static int run_event(struct run *run, struct view_event *event, struct err *err)
{
	const struct view_sink *sink = run->sink;
	view_event_function *const functions[] = {
		[SHAPE_FACT] = NULL,	     [SHAPE_SPAN] = sink->span,
		[SHAPE_POINT] = sink->point, [SHAPE_COUNTER] = sink->counter,
		[SHAPE_TOTAL] = sink->total,
	};
	view_event_function *function = functions[event->kind->shape];
	int result = 0;

	if (run->computes)
		result = view_counters_advance(&run->walk.counters, event->ts, err);
	if (result >= 0 && sink->end)
		result = view_ends_flush(&run->ends, event->ts, sink, run->data, err);
	if (result >= 0 && function)
		result = function(run->data, event, err);
	if (result >= 0 && run->computes)
		result = view_counters_add(&run->walk.counters, event, err);
	if (result >= 0 && sink->end && event->kind->shape == SHAPE_SPAN &&
	    (!sink->end_kinds[0] || view_row_is_of(sink->end_kinds, event->kind->number))) {
		result = view_ends_push(&run->ends, event);
		if (result < 0)
			err_errno(err, result, "can't read the capture");
	}
	return result;
}

static int run_events(struct run *run, struct err *err)
{
	struct view_event event;
	int result;

	while ((result = walk_next(&run->walk, &event, err)) > 0) {
		result = run_event(run, &event, err);
		if (result < 0)
			return result;
	}
	if (result == 0 && run->computes)
		result = view_counters_advance(&run->walk.counters, ~0ULL, err);
	if (result == 0 && run->sink->end)
		result = view_ends_flush(&run->ends, ~0ULL, run->sink, run->data, err);
	return result;
}

int view_run(struct view *view, const struct view_sink *sink, void *data, struct err *err)
{
	struct run run = {
		.sink = sink, .data = data, .computes = sink->counter && !sink->only_recorded};
	int result = walk_init(&run.walk, view, false, err);

	if (result < 0)
		return result;
	view->run_count++;
	view_counters_set_surveyed(&run.walk.counters, &view->counters);
	run.walk.counters.emit = run_computed;
	run.walk.counters.emit_data = &run;
	if (sink->open)
		result = sink->open(data, view, &view->survey, err);
	/* Which may have run through the events itself. */
	view_paths_free(&view->paths);
	view_samples_begin(&view->samples);
	view_wall_begin(view->wall);
	if (result >= 0)
		result = run_events(&run, err);
	if (result >= 0 && sink->close)
		result = sink->close(data, err);
	view_ends_free(&run.ends);
	walk_free(&run.walk);
	return result < 0 ? result : 0;
}
