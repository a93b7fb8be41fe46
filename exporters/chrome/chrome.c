/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/chrome/chrome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "exporters/chrome/chrome_annotations.h"
#include "exporters/chrome/chrome_args.h"
#include "exporters/chrome/chrome_arrows.h"
#include "exporters/chrome/chrome_metadata.h"
#include "exporters/chrome/chrome_points.h"
#include "exporters/chrome/chrome_rows.h"
#include "exporters/chrome/chrome_wakes.h"
#include "exporters/idle_slices.h"
#include "exporters/writer.h"

#define CHROME_ENDS_MAX 64 /* bars, one in the other; the ledger has all */

struct chrome {
	struct writer writer;
	const struct view *view;
	const struct view_survey *survey;
	struct chrome_rows rows;
	struct chrome_args args;
	struct chrome_annotations annotations;
	struct chrome_arrows arrows;
	struct idle_slices idle;
	u32 *idle_tids; /* of their rows, per GPU */
	u64 time_base_ns;
	bool any_event; /* the separator stands before all but the first */
	struct chrome_wakes wakes;
	struct chrome_points points;
	struct text name; /* of the counter at hand */
};

/* ---- events ---- */

/* {"ph":"X","cat":"call","name":"main","ts":1.000; phase is one character and what belongs to it.
 */
static void chrome_begin(struct chrome *chrome, const char *phase, size_t phase_length,
			 const char *category, const char *name, u64 ts)
{
	struct text *text = &chrome->writer.text;

	if (chrome->any_event)
		text_append(text, ",\n");
	chrome->any_event = true;
	text_append(text, "{\"ph\":\"");
	text_append_bytes(text, phase, phase_length);
	text_append(text, ",\"cat\":\"");
	text_append(text, category);
	text_append(text, "\",\"name\":");
	json_append_string(text, name);
	text_append(text, ",\"ts\":");
	json_append_us(text, ts > chrome->time_base_ns ? ts - chrome->time_base_ns : 0);
}
#define chrome_begin_event(chrome, phase, event)       \
	chrome_begin(chrome, phase, sizeof(phase) - 1, \
		     chrome_args_category(&(chrome)->args, event), (event)->name, (event)->ts)

static int chrome_append_row(struct chrome *chrome, size_t row_index, unsigned number,
			     struct err *err)
{
	const struct chrome_lane *lane = chrome_rows_lane(&chrome->rows, row_index, number);

	if (!lane)
		return err_set(err, -EINVAL,
			       "can't write %s: event on row %zu, lane %u, which the "
			       "survey did not find",
			       chrome->writer.path, row_index, number);
	text_append_bytes(&chrome->writer.text, lane->ids, lane->ids_length);
	return 0;
}

static int chrome_end_event(struct chrome *chrome, const struct view_event *event, struct err *err)
{
	chrome_args_append(&chrome->args, event, &chrome->writer.text);
	text_append_char(&chrome->writer.text, '}');
	return writer_flush(&chrome->writer, err);
}

static int chrome_finish_event(struct chrome *chrome, const struct view_event *event,
			       struct err *err)
{
	int result = chrome_append_row(chrome, event->row_index, event->lane, err);

	return result < 0 ? result : chrome_end_event(chrome, event, err);
}

static int chrome_append_arrow(struct chrome *chrome, const struct view_event *event, bool starts,
			       u64 number, struct err *err)
{
	static const char start[] = "s\"", end[] = "f\",\"bp\":\"e\"";
	int result;

	chrome_begin(chrome, starts ? start : end, strlen(starts ? start : end), "ac2g", "ac2g",
		     event->ts);
	text_append(&chrome->writer.text, ",\"id\":");
	json_append_number(&chrome->writer.text, number);
	result = chrome_append_row(chrome, event->row_index, event->lane, err);
	text_append_char(&chrome->writer.text, '}');
	return result < 0 ? result : writer_flush(&chrome->writer, err);
}

/* Arrows from what launched to what ran, as Kineto writes them: a start at the launch, an end at its effect. They bind to the slice on the
 * row at that moment: the event itself, where nothing that starts together nests on a row. */
static int chrome_append_arrows(struct chrome *chrome, const struct view_event *event,
				struct err *err)
{
	u64 number;
	bool named;
	int result;

	/* An overhead in a launch is none of its work: HTA would count it as such. */
	if (event->kind->number == KIND_overhead)
		return 0;
	if (!event->launch) {
		number = event->cause ? chrome_arrows_end(&chrome->arrows, event) : 0;
		return number ? chrome_append_arrow(chrome, event, false, number, err) : 0;
	}
	if (chrome_arrows_start(&chrome->arrows, event, &named, &number) < 0)
		return err_errno(err, -ENOMEM, "can't write %s", chrome->writer.path);
	result = named ? chrome_append_arrow(chrome, event, true,
					     view_unique_correlation(chrome->view, event), err)
		       : 0;
	for (u64 i = named; i < event->effect_count && result >= 0; i++)
		result = chrome_append_arrow(chrome, event, true, number++, err);
	return result;
}

#define WAKE_CATEGORY "wake"

static int chrome_append_wake_slice(struct chrome *chrome, const char *name, u64 ts, u64 dur,
				    size_t row_index, unsigned lane, const char *what, u32 tid,
				    struct err *err)
{
	struct text *text = &chrome->writer.text;
	int result;

	chrome_begin(chrome, "X\"", strlen("X\""), WAKE_CATEGORY, name, ts);
	text_append(text, ",\"dur\":");
	json_append_us(text, dur);
	result = chrome_append_row(chrome, row_index, lane, err);
	text_appendf(text, ",\"args\":{\"%s\":%u}}", what, tid);
	return result;
}

static int chrome_append_wake_flow(struct chrome *chrome, const char *phase,
				   const struct chrome_wake *wake, size_t row_index, unsigned lane,
				   struct err *err)
{
	int result;

	chrome_begin(chrome, phase, strlen(phase), WAKE_CATEGORY, WAKE_CATEGORY, wake->ts);
	text_append(&chrome->writer.text, ",\"id\":");
	json_append_number(&chrome->writer.text, wake->number);
	result = chrome_append_row(chrome, row_index, lane, err);
	text_append_char(&chrome->writer.text, '}');
	return result;
}

/* An arrow goes forward in time, to what begins then: the part of the wait in which its thread could have run. */
static int chrome_append_wake(struct chrome *chrome, const struct view_event *event,
			      struct err *err)
{
	const struct record_off_cpu *wait = (const void *)event->record;
	struct chrome_wake wake;
	int result;

	if (!chrome_wakes_find(&chrome->wakes, &chrome->rows, event, &wake))
		return 0;
	result = chrome_append_wake_slice(chrome, "wakes", wake.ts, 1, wake.waker, 0, "thread",
					  event->record->tid, err);
	if (result >= 0)
		result = chrome_append_wake_slice(
			chrome, "ready", wake.ts, event->ts + event->dur - wake.ts,
			event->row_index, event->lane, "woken by thread", wait->waker_tid, err);
	if (result >= 0)
		result = chrome_append_wake_flow(chrome, "s\"", &wake, wake.waker, 0, err);
	if (result >= 0)
		result = chrome_append_wake_flow(chrome, "f\",\"bp\":\"e\"", &wake,
						 event->row_index, event->lane, err);
	return result < 0 ? result : writer_flush(&chrome->writer, err);
}

static int chrome_append_annotations(struct chrome *chrome, const struct view_event *event,
				     struct err *err)
{
	struct text *text = &chrome->writer.text;
	struct chrome_annotation annotation;
	int result;

	while ((result = chrome_annotations_next(&chrome->annotations, event, &annotation)) > 0) {
		chrome_begin(chrome, "X\"", strlen("X\""), annotation.category, annotation.name,
			     annotation.ts);
		text_append(text, ",\"dur\":");
		json_append_us(text, annotation.dur);
		result = chrome_append_row(chrome, event->row_index, event->lane, err);
		if (result < 0)
			return result;
		text_append(text, ",\"args\":{\"made by\":\"gpuprobe\"}}");
	}
	return result < 0 ? err_errno(err, result, "can't write %s", chrome->writer.path) : 0;
}

/* Those that begin by ts, of every GPU. */
static int chrome_append_idle(struct chrome *chrome, u64 ts, struct err *err)
{
	struct text *text = &chrome->writer.text;
	struct idle_slice slice;
	int result;

	while ((result = idle_slices_next(&chrome->idle, ts, &slice, err)) > 0) {
		const struct chrome_lane *lane =
			chrome_rows_lane(&chrome->rows, chrome->idle.gpus[slice.gpu], 0);

		chrome_begin(chrome, "X\"", strlen("X\""), IDLE_CATEGORY, slice.name, slice.ts);
		text_append(text, ",\"dur\":");
		json_append_us(text, slice.dur);
		text_appendf(text, ",\"pid\":%u,\"tid\":%u,\"args\":{", lane->pid,
			     chrome->idle_tids[slice.gpu]);
		for (size_t i = 0; i < slice.arg_count; i++) {
			text_append(text, i ? "," : "");
			json_append_string(text, slice.args[i].name);
			text_append_char(text, ':');
			json_append_string(text, slice.args[i].value);
		}
		text_append(text, "}}");
		result = writer_flush(&chrome->writer, err);
		if (result < 0)
			return result;
	}
	return result;
}

static int chrome_span(void *data, const struct view_event *event, struct err *err)
{
	struct chrome *chrome = data;
	int result = chrome_append_idle(chrome, event->ts, err);

	if (result >= 0)
		result = chrome_append_annotations(chrome, event, err);
	if (result < 0)
		return result;
	chrome_begin_event(chrome, "X\"", event);
	text_append(&chrome->writer.text, ",\"dur\":");
	json_append_us(&chrome->writer.text, chrome_takes_no_time(event) ? 0 : event->dur);
	result = chrome_finish_event(chrome, event, err);
	if (result >= 0)
		result = chrome_append_arrows(chrome, event, err);
	return result < 0 ? result : chrome_append_wake(chrome, event, err);
}

/* A point of which so many stand on its row at that moment that it stands on a further one. */
static int chrome_point_elsewhere(struct chrome *chrome, const struct view_event *event,
				  const struct chrome_place *place, struct err *err)
{
	struct text *text = &chrome->writer.text;

	if (place->first) {
		text_append(text, chrome->any_event ? ",\n" : "");
		chrome_points_append_name(&chrome->rows, event, place, text);
		/* The separator behind it. */
		text->length -= strlen(",\n");
		chrome->any_event = true;
	}
	chrome_begin_event(chrome, "i\",\"s\":\"t\"", event);
	text_appendf(text, ",\"pid\":%u,\"tid\":%u", place->pid, place->tid);
	return chrome_end_event(chrome, event, err);
}

static int chrome_point(void *data, const struct view_event *event, struct err *err)
{
	struct chrome *chrome = data;
	struct chrome_place place;

	/* The calls of the API that they belong to have it. */
	if (event->kind->number == KIND_launch_stack)
		return 0;
	if (view_annotation(chrome->view, event) == VALUE_usdt_annotation_counter) {
		chrome_begin_event(chrome, "C\"", event);
		return chrome_finish_event(chrome, event, err);
	}
	if (chrome_points_place(&chrome->points, &chrome->rows, event, &place) < 0)
		return err_errno(err, -ENOMEM, "can't write %s", chrome->writer.path);
	if (place.tid)
		return chrome_point_elsewhere(chrome, event, &place, err);
	if (event->row->type == ROW_PROCESS)
		chrome_begin_event(chrome, "i\",\"s\":\"p\"", event);
	else
		chrome_begin_event(chrome, "i\",\"s\":\"t\"", event);
	return chrome_finish_event(chrome, event, err);
}

/* One name and one value a counter: chrome://tracing takes what args the first event of a name has for those of all. */
static int chrome_counter(void *data, const struct view_event *event, struct err *err)
{
	struct chrome *chrome = data;
	struct text *text = &chrome->writer.text;
	struct view_value value;
	const char *what;
	size_t place = 0;
	int result;

	while ((what = chrome_args_next(&chrome->args, event, &place, &value))) {
		text_clear(&chrome->name);
		text_append(&chrome->name, event->name);
		if (strcmp(what, "value") != 0)
			text_appendf(&chrome->name, " %s", what);
		chrome_begin(chrome, "C\"", strlen("C\""),
			     chrome_args_category(&chrome->args, event), text_string(&chrome->name),
			     event->ts);
		result = chrome_append_row(chrome, event->row_index, event->lane, err);
		if (result < 0)
			return result;
		text_append(text, ",\"args\":{\"value\":");
		chrome_args_append_value(text, &value);
		text_append(text, "}}");
	}
	return writer_flush(&chrome->writer, err);
}

/* Sums over a time have no place on a time line: they stand as a point where that time begins. */
static int chrome_total(void *data, const struct view_event *event, struct err *err)
{
	return chrome_total_is_drawn(event) ? chrome_point(data, event, err) : 0;
}

/* ---- begin and end ---- */

/* Viewers do not show the metadata, so what is missing is said by a bar over the whole window too.
 */
static void chrome_append_incomplete(struct chrome *chrome)
{
	const struct view_survey *survey = chrome->survey;
	struct text *text = &chrome->writer.text;

	chrome->any_event = false;
	chrome_begin(chrome, "X\"", strlen("X\""), "gpuprobe",
		     survey->cut ? "the recording was cut: what came later is missing"
				 : "something is missing: see the losses",
		     survey->window_start_ns);
	text_append(text, ",\"dur\":");
	json_append_us(text, survey->window_end_ns - survey->window_start_ns);
	text_appendf(text, ",\"pid\":%u,\"tid\":%u,\"args\":{\"losses\":", chrome->rows.own_pid,
		     chrome->rows.own_tid);
	chrome_append_losses(survey, text);
	text_append(text, "}},\n");
}

/* Readers of a time line see a GPU that is idle, and counters that keep their last value (nothing in this format ends one): from where
 * on that says nothing stands in bars below the one of what is missing. */
static void chrome_append_ends(struct chrome *chrome)
{
	u64 end_ns = chrome->survey->window_end_ns;
	size_t count;
	const struct view_recording_end *ends = view_recording_ends(chrome->view, &count);
	struct text *text = &chrome->writer.text;

	for (size_t i = 0; i < count && i < CHROME_ENDS_MAX; i++) {
		if (!chrome_name_end(chrome->survey, &ends[i], &chrome->name))
			continue;
		chrome->any_event = false;
		chrome_begin(chrome, "X\"", strlen("X\""), "gpuprobe", text_string(&chrome->name),
			     ends[i].until_ns);
		text_append(text, ",\"dur\":");
		json_append_us(text, end_ns - ends[i].until_ns);
		text_appendf(text, ",\"pid\":%u,\"tid\":%u},\n", chrome->rows.own_pid,
			     chrome->rows.own_tid);
	}
}

/* The names of their rows, behind those of the first of the GPU's streams. */
static int chrome_name_idle(struct chrome *chrome, struct err *err)
{
	struct idle_slices *idle = &chrome->idle;

	chrome->idle_tids = calloc(idle->gpu_count + 1, sizeof(*chrome->idle_tids));
	if (!chrome->idle_tids)
		return err_errno(err, -ENOMEM, "can't write %s", chrome->writer.path);
	for (size_t i = 0; i < idle->gpu_count; i++) {
		chrome->idle_tids[i] = chrome_rows_new_tid(&chrome->rows);
		chrome_rows_append_name(chrome_rows_lane(&chrome->rows, idle->gpus[i], 0)->pid,
					chrome->idle_tids[i], idle_slices_row_name(),
					chrome->rows.first_lane[idle->gpus[i]],
					&chrome->writer.text);
	}
	return 0;
}

static int chrome_open(void *data, const struct view *view, const struct view_survey *survey,
		       struct err *err)
{
	struct chrome *chrome = data;
	struct text *text = &chrome->writer.text;
	int result;

	chrome->view = view;
	chrome->arrows.view = view;
	chrome->survey = survey;
	chrome->time_base_ns = chrome_time_base_ns(survey);
	result = chrome_args_find(&chrome->args, view, err);
	if (result == 0)
		result = chrome_rows_make(&chrome->rows, survey, !view_is_complete(survey), err);
	if (result == 0)
		result = chrome_annotations_find(&chrome->annotations, view, &chrome->rows, err);
	if (result == 0)
		result = idle_slices_find(&chrome->idle, view, err);
	if (result < 0)
		return result;
	text_append_char(text, '{');
	chrome_append_header(view, text);
	chrome_append_metadata(view, text);
	text_append(text, ",\n\"traceEvents\":[\n");
	chrome_rows_append_names(&chrome->rows, view, text);
	result = chrome_name_idle(chrome, err);
	if (result < 0)
		return result;
	if (chrome->rows.own_pid) {
		chrome_append_incomplete(chrome);
		chrome_append_ends(chrome);
	}
	/* The separator that stands behind the last line goes before the first event again. */
	if (chrome->rows.process_count || chrome->rows.own_pid) {
		text->length -= strlen(",\n");
		chrome->any_event = true;
	}
	return writer_flush(&chrome->writer, err);
}

static int chrome_close(void *data, struct err *err)
{
	struct chrome *chrome = data;
	int result = chrome_append_idle(chrome, ~0ULL, err);

	if (result < 0)
		return result;
	text_append(&chrome->writer.text, chrome->any_event ? "\n]}\n" : "]}\n");
	return writer_flush(&chrome->writer, err);
}

const struct view_sink chrome_sink = {
	.open = chrome_open,
	.span = chrome_span,
	.point = chrome_point,
	.counter = chrome_counter,
	.total = chrome_total,
	.close = chrome_close,
};

int chrome_create(const char *path, bool gzip, void **ret_data, struct err *err)
{
	struct chrome *chrome _cleanup_free_ = calloc(1, sizeof(*chrome));
	int result;

	if (!chrome)
		return err_set(err, -ENOMEM, "can't write %s: out of memory", path);
	result = writer_create(&chrome->writer, path, gzip, err);
	if (result < 0)
		return result;
	*ret_data = take_pointer(&chrome);
	return 0;
}

int chrome_finish(void *data, bool commit, u64 *ret_size_bytes, struct err *err)
{
	struct chrome *chrome = data;
	int result = writer_finish(&chrome->writer, commit, ret_size_bytes, err);

	chrome_args_free(&chrome->args);
	chrome_annotations_free(&chrome->annotations);
	chrome_arrows_free(&chrome->arrows);
	idle_slices_free(&chrome->idle);
	free(chrome->idle_tids);
	chrome_wakes_free(&chrome->wakes);
	chrome_points_free(&chrome->points);
	chrome_rows_free(&chrome->rows);
	text_free(&chrome->name);
	free(chrome);
	return result;
}
