/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For fuzzing: runs a capture through reader and view with a sink that reads all it is given. */
#ifndef GPUPROBE_FUZZ_TOUCH_EVERYTHING_H
#define GPUPROBE_FUZZ_TOUCH_EVERYTHING_H

#include <stdlib.h>
#include <string.h>

#include "view/view.h"

struct toucher {
	const struct view *view;
	u64 last_ns; /* starts and ends, in time order */
	u64 open_spans;
	volatile u64 sum;
};

static inline void touch_string(struct toucher *toucher, const char *string)
{
	if (!string)
		abort();
	toucher->sum += strlen(string);
}

static inline void touch_event(struct toucher *toucher, const struct view_event *event, u64 ts)
{
	static const char *const keys[] = {"name", "stack", "probe.binary", "device", "cause_name"};

	if (ts < toucher->last_ns || event->lane >= event->row->lane_count ||
	    event->end < event->ts || event->record->kind != event->kind->number)
		abort();
	toucher->last_ns = ts;
	touch_string(toucher, event->name);
	touch_string(toucher, event->row->name);
	touch_string(toucher, event->row->process_name);
	if (event->cause)
		touch_string(toucher, event->cause->name);
	for (size_t i = 0; i < event->kind->field_count; i++) {
		const struct schema_field *field = &event->kind->fields[i];

		toucher->sum += schema_field_value(field, event->record, field->count - 1);
		toucher->sum += view_field_absent(field, event->record);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct view_key *key;

		if (view_key(toucher->view, "fuzz", event->kind, keys[i], &key, NULL) == 0 &&
		    view_value(toucher->view, key, event).type == VALUE_STRING)
			touch_string(toucher, view_value(toucher->view, key, event).string);
	}
}

static inline int touch_start(void *data, const struct view_event *event, struct err *err)
{
	touch_event(data, event, event->ts);
	return 0;
}

static inline int touch_span(void *data, const struct view_event *event, struct err *err)
{
	((struct toucher *)data)->open_spans++;
	return touch_start(data, event, err);
}

static inline int touch_end(void *data, const struct view_event *event, struct err *err)
{
	((struct toucher *)data)->open_spans--;
	touch_event(data, event, event->end);
	return 0;
}

static inline void touch_facts(struct toucher *toucher)
{
	size_t kind_count, count;
	const struct schema_kind *kinds = schema_kinds(&kind_count);

	for (size_t i = 0; i < kind_count; i++) {
		const struct record_header *const *facts =
			view_facts(toucher->view, kinds[i].number, &count);

		for (size_t j = 0; j < count; j++) {
			const u64 *addresses;

			if (facts[j]->kind != kinds[i].number)
				abort();
			if (facts[j]->name)
				touch_string(toucher, view_text(toucher->view, facts[j]->name));
			for (size_t k = view_stack(toucher->view, facts[j]->stack, &addresses); k;
			     k--)
				toucher->sum += addresses[k - 1];
			if (kinds[i].number == KIND_text)
				touch_string(toucher, view_text(toucher->view, j + 1));
			else if (schema_id_field(&kinds[i]) && kinds[i].tail == TAIL_NONE)
				touch_string(toucher,
					     view_label(toucher->view, kinds[i].number, j + 1));
		}
	}
}

static inline int touch_open(void *data, const struct view *view, const struct view_survey *survey,
			     struct err *err)
{
	struct toucher *toucher = data;

	toucher->view = view;
	for (size_t i = 0; i < survey->loss_count; i++) {
		touch_string(toucher, survey->losses[i].place);
		touch_string(toucher, survey->losses[i].meaning);
	}
	for (size_t i = 0; i < survey->attribute_count; i++)
		touch_string(toucher, survey->attributes[i].value);
	touch_facts(toucher);
	return 0;
}

/* fd: what may be a capture. Aborts when the view breaks a promise. */
static inline void touch_everything(int fd)
{
	const struct view_sink sink = {
		.open = touch_open,
		.span = touch_span,
		.end = touch_end,
		.point = touch_start,
		.counter = touch_start,
		.total = touch_start,
	};
	struct capture_reader *reader;
	struct toucher toucher = {0};
	struct err err = {0};
	struct view *view;

	if (capture_reader_open(fd, &reader, &err) < 0)
		return;
	if (view_open(reader, &view, &err) == 0) {
		if (view_run(view, &sink, &toucher, &err) < 0 || toucher.open_spans)
			abort();
		view_free(view);
	}
	capture_reader_free(reader);
}

#endif
